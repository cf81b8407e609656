"""Slots for jobs on one table: at most as many run at once as its policy allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from journal.model.errors import Code, PalimpsestError

WAIT_S = 60.0
_PAUSE_S = 0.2

ExclusiveLock = Callable[[str], AbstractContextManager[bool]]
"""``OpenJournal.exclusive``: a block that is given True if nobody else is inside one of a name."""


@contextmanager
def job_slot(
    alone: ExclusiveLock, table_id: int, most: int, wait_s: float = WAIT_S
) -> Iterator[None]:
    """Be one of at most so many jobs on a table; waits for a place, then raises JOB_BUSY."""
    until = time.monotonic() + wait_s
    while True:
        for number in range(most):
            with alone(f"slot:{table_id}:{number}") as is_mine:
                if is_mine:
                    yield
                    return
        if time.monotonic() >= until:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"{most} jobs run on this table already, and its policy allows no more",
                advice="wait until one has ended, or SET POLICY (MAX_CONCURRENCY = ..)",
            )
        time.sleep(_PAUSE_S)
