"""The lock of a table for jobs that replace its segments, or copy them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal


@contextmanager
def job_turn(journal: Journal, table_id: int, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the table for a job; raises JOB_BUSY if another one still has it after the wait."""
    lock = journal.job_lock(table_id)
    if not lock.acquire(timeout=max(wait_s, 0.0)):
        raise PalimpsestError(
            Code.JOB_BUSY,
            "another job is replacing segments of this table",
            advice="wait until it has ended; SELECT * FROM system.jobs shows it",
        )
    try:
        yield
    finally:
        lock.release()
