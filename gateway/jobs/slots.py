"""How many jobs may work on one table at once, in this process: the policy's MAX_CONCURRENCY."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from journal.errors import Code, PalimpsestError

WAIT_S = 60.0


class Slots:
    """Counts the jobs that run, by table."""

    def __init__(self) -> None:
        self._running: Counter[tuple[str, int]] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def hold(
        self, place: str, table_id: int, most: int | None, wait_s: float = WAIT_S
    ) -> Iterator[None]:
        """Be one of at most so many; waits a while for a place, then raises JOB_BUSY."""
        key = (place, table_id)
        until = time.monotonic() + wait_s
        with self._changed:
            while most is not None and self._running[key] >= most:
                if not self._changed.wait(until - time.monotonic()):
                    raise PalimpsestError(
                        Code.JOB_BUSY,
                        f"{most} jobs run on this table already, and its policy allows no more",
                        advice="wait until one has ended, or SET POLICY (MAX_CONCURRENCY = ..)",
                    )
            self._running[key] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[key] -= 1
                self._changed.notify_all()


SLOTS = Slots()
