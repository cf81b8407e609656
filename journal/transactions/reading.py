"""Reading what is committed, by a statement of a transaction that nobody else has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.state import JournalState


@contextmanager
def reading(journal: OpenJournal) -> Iterator[OpenStatement]:
    """A statement of a transaction of its own, which reads what is committed now."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            yield statement
    finally:
        transaction.rollback()


def committed_state(journal: OpenJournal) -> JournalState:
    """The committed state, including commits of other processes."""
    with reading(journal) as statement:
        return statement.committed
