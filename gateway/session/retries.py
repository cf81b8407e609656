"""Waits before a session retries a statement that lost to another writer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

T = TypeVar("T")

_FIRST_S = 0.002
_LONGEST_S = 0.016
_LOST_MAX = 3
"""So often a statement comes second before it takes its turn."""
_TURN_MAX_S = 5.0
"""A statement that takes longer keeps nobody else from committing."""


class RetryPolicy(Protocol):
    """How a session waits between two tries; a server with an event loop passes its own."""

    def wait(self, attempt: int) -> None:
        """Return when the next try may begin; ``attempt`` is 0 after the first one."""


@dataclass(frozen=True, slots=True)
class RandomWaits:
    """Waits a short random while, so that those that retry get out of each other's way.

    It stays short, as whoever waits longer than others loses to them again. ``sleep`` takes
    seconds; ``uniform`` draws a number from an interval.
    """

    sleep: Callable[[float], object] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def wait(self, attempt: int) -> None:
        """Sleep for at most ``0.002 * 2 ** attempt`` seconds, and never more than 0.016."""
        self.sleep(self.uniform(0, min(_LONGEST_S, _FIRST_S * 2 ** min(attempt, 3))))


def run_until_first(
    attempt: Callable[[bool], T],
    retries: int,
    policy: RetryPolicy,
    turn: Callable[[], AbstractContextManager[None]],
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """What ``attempt`` returns, called again where it raises SERIALIZATION, ``retries`` times.

    It is given True for the last time. After three losses it runs inside a ``turn``, in which
    nobody else commits, unless the try before took more than five seconds. ``clock`` tells seconds.
    """
    lasted_s = 0.0
    for number in range(retries + 1):
        began = clock()
        has_turn = number >= _LOST_MAX and lasted_s <= _TURN_MAX_S
        try:
            with turn() if has_turn else nullcontext():
                return attempt(number == retries)
        except PalimpsestError as error:
            if error.code is not Code.SERIALIZATION or number == retries:
                raise
        lasted_s = clock() - began
        policy.wait(number)
    raise AssertionError("the loop returns or raises")
