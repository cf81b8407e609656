"""Being the only one to do something, in all processes on a store, for as long as a block lasts.

    embedded warehouse   a note in memory: one process opens it
    database             an advisory lock of a session of its own
    Hive store           a lease of the catalog, which is renewed

What a process held is free once it has ended. So two schedulers never run one thing twice, a table
has as many jobs at once as its policy says, whoever runs them, and a run whose process was killed
is told from one that goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from gateway.procedures.procedures import hive
from journal.model.errors import Code, PalimpsestError
from journal.stores.embedded.journal import Journal
from journal.transactions.protocol import OpenJournal

if TYPE_CHECKING:
    from journal.stores.postgres.journal import DatabaseJournal

WAIT_S = 60.0
_PAUSE_S = 0.2
_held: set[tuple[str, str]] = set()
_lock = threading.Lock()

Alone = Callable[[str], AbstractContextManager[bool]]
"""A block that is given True if nobody else is inside one of that name, anywhere on the store."""


def alone_on(journal: OpenJournal) -> Alone:
    """How one is alone on the store of some journals."""
    if isinstance(journal, Journal):
        return partial(_here, journal.place)
    on_hive = hive(journal)
    if on_hive is not None:
        return on_hive.leases.trying
    from journal.stores.postgres.journal import DatabaseJournal

    assert isinstance(journal, DatabaseJournal)
    return partial(_in_database, journal)


@contextmanager
def _here(place: str, name: str) -> Iterator[bool]:
    with _lock:
        is_mine = (place, name) not in _held
        _held.add((place, name))
    try:
        yield is_mine
    finally:
        if is_mine:
            with _lock:
                _held.discard((place, name))


@contextmanager
def _in_database(journal: DatabaseJournal, name: str) -> Iterator[bool]:
    from journal.stores.postgres import jobs as rows_of

    with journal.reading_session() as session:
        is_mine = rows_of.try_alone(session, name)
        try:
            yield is_mine
        finally:
            if is_mine:
                with suppress(PalimpsestError):
                    rows_of.end_alone(session, name)


@contextmanager
def one_of(alone: Alone, table_id: int, most: int, wait_s: float = WAIT_S) -> Iterator[None]:
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
