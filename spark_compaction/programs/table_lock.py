"""One job at a time replaces pieces of a table, in all processes on its store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.transactions.protocol import OpenJournal


@contextmanager
def table_lock(journal: OpenJournal, table: Table) -> Iterator[None]:
    """Be the only job at a table; raises JOB_BUSY if another one is at it."""
    with journal.exclusive(f"maintenance:{table.id}") as is_mine:
        if not is_mine:
            raise busy(table)
        yield


def busy(table: Table) -> PalimpsestError:
    """The error of a job that comes second."""
    return PalimpsestError(
        Code.JOB_BUSY,
        f"another job is replacing parts of {table.name}",
        advice="wait until it has ended; system.jobs shows it",
    )
