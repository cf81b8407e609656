"""Calls something when its time has come, in a thread that all sessions of the process share."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Callable
from itertools import count

_FORGOTTEN_MAX = 256
"""So many moments may lie in the queue for which nothing is to be called any more."""


class Deadlines:
    """What is to be called, and when; the thread begins with the first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int]] = []
        self._acts: dict[int, Callable[[], None]] = {}
        self._numbers = count()
        self._pid: int | None = None

    def __len__(self) -> int:
        """How many moments lie in the queue, forgotten ones as well."""
        return len(self._queue)

    def call_at(self, moment_s: float, act: Callable[[], None]) -> int:
        """Have ``act`` called in a thread of its own at a moment of the monotonic clock.

        The number that it gives is for ``forget``.
        """
        with self._changed:
            if self._pid != os.getpid():
                # A process that was forked has no thread yet, and what waited is not its own.
                self._pid = os.getpid()
                self._queue.clear()
                self._acts.clear()
                name = "palimpsest-deadlines"
                threading.Thread(target=self._wait, name=name, daemon=True).start()
            number = next(self._numbers)
            heapq.heappush(self._queue, (moment_s, number))
            self._acts[number] = act
            if self._queue[0][1] == number:
                self._changed.notify()
            return number

    def forget(self, number: int) -> None:
        """Call nothing for this number any more."""
        with self._changed:
            self._acts.pop(number, None)
            # Most calls end long before their time; what was to be called then waits for it.
            if len(self._queue) > _FORGOTTEN_MAX + 2 * len(self._acts):
                self._queue = [entry for entry in self._queue if entry[1] in self._acts]
                heapq.heapify(self._queue)

    def _wait(self) -> None:
        while True:
            with self._changed:
                act = self._next()
            if act is not None:
                threading.Thread(target=act, name="palimpsest-deadline", daemon=True).start()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next moment or a change; what is to be called now."""
        while self._queue and self._queue[0][1] not in self._acts:
            heapq.heappop(self._queue)
        if not self._queue:
            self._changed.wait()
            return None
        moment_s, number = self._queue[0]
        left_s = moment_s - time.monotonic()
        if left_s > 0:
            self._changed.wait(left_s)
            return None
        heapq.heappop(self._queue)
        return self._acts.pop(number)


DEADLINES = Deadlines()
"""Those of this process."""
