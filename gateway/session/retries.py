"""How a session waits before it runs a statement again that came second."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Protocol

from journal.model.lazy_dataclass import dataclass

_FIRST_S = 0.002


class RetryPolicy(Protocol):
    """How a session waits between two tries; a server with an event loop passes its own."""

    def wait(self, attempt: int) -> None:
        """Return when the next try may begin; ``attempt`` is 0 after the first one."""


@dataclass(frozen=True, slots=True)
class RandomWaits:
    """Waits a random while, on average twice as long each time.

    So those that retry get out of each other's way. ``sleep`` takes seconds; ``uniform`` draws a
    number from an interval.
    """

    sleep: Callable[[float], object] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def wait(self, attempt: int) -> None:
        """Sleep for at most ``0.002 * 2 ** attempt`` seconds."""
        self.sleep(self.uniform(0, _FIRST_S * 2**attempt))
