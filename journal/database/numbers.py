"""Generated numbers of a database's journals: identity values and hidden row ids.

Several processes take them, so they are taken in the database, in a transaction of their own that
need not wait for the disk: whatever commits later with such a number makes it durable too. Row ids
are taken in blocks. Numbers of a transaction that rolls back are lost, as with any sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from journal.counters import CounterKey
from journal.schema import ROW_ID
from journal.stores import postgres_catalog as rows_of
from journal.stores.postgres import BEGIN_SECTION, PostgresSession
from journal.stores.postgres_pool import PostgresStore

_ROW_ID_BLOCK = 1 << 12


class DatabaseNumbers:
    """Takes numbers off the database's counters."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._blocks: dict[CounterKey, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""
        if key[1] != ROW_ID or increment != 1:
            return self._take(key, count * increment, start)
        with self._lock:
            first, end = self._blocks.get(key, (0, 0))
            if end - first < count:
                size = max(count, _ROW_ID_BLOCK)
                first = self._take(key, size, start)
                end = first + size
            self._blocks[key] = (first + count, end)
            return first

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""
        if (value - start) * increment >= 0:
            with self._writing() as session:
                rows_of.skip_past(session, *key, value, increment)

    def _take(self, key: CounterKey, size: int, start: int) -> int:
        with self._writing() as session:
            return rows_of.reserve(session, *key, size, start)

    @contextmanager
    def _writing(self) -> Iterator[PostgresSession]:
        asynchronous = "SET LOCAL synchronous_commit = off; SELECT 1"
        session, _ = self._store.begun(BEGIN_SECTION, asynchronous)
        try:
            yield session
            session.commit()
        finally:
            session.rollback()
            self._store.release(session)
