"""How many logins a minute a server takes from one address. Sends and logs nothing."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from journal.model.errors import Code, PalimpsestError

_WINDOW_S = 60.0
_ADDRESSES_MAX = 10_000
"""So many addresses are known; of more, those that came least lately are forgotten."""


class LoginRate:
    """Counts logins in the last minute; ``most`` of one address are taken, 0: any number.

    ``now`` gives seconds that only grow.
    """

    def __init__(self, most: int = 0, now: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._now = now
        self._taken: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, user: str, address: str) -> None:
        """Count a login, whether or not it will succeed; raises LOGIN_RATE for one too many.

        One that is refused here does not count. Where a front end knows no address and gives its
        own name, the logins of a user count together.

        >>> LoginRate(1, now=lambda: 0.0).take("ann", "192.0.2.7")
        """
        if self._most == 0 or not address:
            return
        whose = f"address {address}" if _is_host(address) else f'user "{user}"'
        with self._lock:
            now, times = self._now(), self._taken.pop(whose, None) or deque[float]()
            while times and now - times[0] >= _WINDOW_S:
                times.popleft()
            self._taken[whose] = times
            if len(self._taken) > _ADDRESSES_MAX:
                self._taken.popitem(last=False)
            if len(times) < self._most:
                times.append(now)
                return
            wait_s = _WINDOW_S - (now - times[0])
        raise PalimpsestError(
            Code.LOGIN_RATE,
            f"{whose} has logged in {self._most} times within a minute, which is the limit",
            advice=f"try again in {math.ceil(wait_s)} seconds, keep connections open in a pool,"
            " or raise max_login_rate of the server",
        )


def _is_host(address: str) -> bool:
    try:
        ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return True
