"""Tells a hung server from a busy one while a statement runs.

A server may go on telling that a statement runs while the metastore behind it stands still, for
everybody and for ever. So who waits long has another, short question asked. One is asked at a time
for all that wait: each that hangs keeps a thread of the server. Stops no statement itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

EVERY_S = 30.0
"""How long a statement runs before the first question, and how long an answer holds."""


class Pulse:
    """Asks for all threads that wait for one server; thread-safe."""

    def __init__(
        self,
        ask: Callable[[], bool],
        limit_s: float,
        every_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``ask`` returns whether there was any answer; a limit of 0 is none: nothing is asked."""
        self._ask = ask
        self._limit_s = limit_s
        self._every_s = every_s
        self._now = now
        self._lock = threading.Lock()
        self._answered_at = -every_s
        self._asked_at: float | None = None

    def is_felt(self, began: float) -> bool:
        """False when whoever waits since ``began`` has waited long enough for any answer."""
        if not self._limit_s:
            return True
        with self._lock:
            now = self._now()
            if self._asked_at is not None:
                return now - max(self._asked_at, began) <= self._limit_s
            if now - max(self._answered_at, began) < self._every_s:
                return True
            self._asked_at = now
        threading.Thread(target=self._run, name="palimpsest-pulse", daemon=True).start()
        return True

    def _run(self) -> None:
        while not self._ask():
            # Who waits is told meanwhile; that the server is back is to be noticed, too.
            pass
        with self._lock:
            self._asked_at, self._answered_at = None, self._now()
