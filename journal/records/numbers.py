"""Generated numbers of journals with a catalog in a database: identity values and hidden row ids.

Several processes take them, so they are taken in the database, in a transaction of their own. Row
ids are taken in blocks. Numbers of a transaction that rolls back are lost, as with any sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from journal.model.errors import Code, PalimpsestError
from journal.model.number_source import CounterKey, NumberSource
from journal.model.schema import ROW_ID
from journal.model.store_session import RecordSession
from journal.records.schema import COUNTERS
from journal.records.statements import by, execute, select, upsert

_ROW_ID_BLOCK = 1 << 12
_NUMBER = select(COUNTERS, ["value"], by("table_id", "column_name"))
_NUMBERS = select(COUNTERS, ["column_name", "value"], by("table_id"))
_PUT_NUMBER = upsert(COUNTERS)
_TABLE_IDS = (0, "table_ids")
S = TypeVar("S", bound=RecordSession)


class DatabaseNumbers(Generic[S]):
    """Takes numbers off the database's counters.

    ``counting`` is a transaction of its own, committed at the end of its block. A database that has
    faster ways than ``reserve``, ``skip_past``, ``change`` and ``next_table_id`` of this module
    gives them; ``new_table_id`` need not be a transaction.
    """

    def __init__(
        self,
        counting: Callable[[], AbstractContextManager[S]],
        take: Callable[[S, int, str, int, int], int],
        skip: Callable[[S, int, str, int, int], None],
        put: Callable[[S, int, str, int, Callable[[int], int]], None],
        new_table_id: Callable[[], int],
    ) -> None:
        self._counting = counting
        self._take_in = take
        self._skip_in = skip
        self._put_in = put
        self._new_table_id = new_table_id
        self._blocks: dict[CounterKey, tuple[int, int]] = {}
        self._lock = threading.Lock()

    @staticmethod
    def of(counting: Callable[[], AbstractContextManager[S]]) -> DatabaseNumbers[S]:
        """Those of a database in which only one transaction at a time takes numbers."""

        def new_table_id() -> int:
            with counting() as session:
                return next_table_id(session)

        return DatabaseNumbers(counting, reserve, skip_past, change, new_table_id)

    def _take_once(self, table_id: int, column: str, size: int, start: int) -> int:
        with self._counting() as session:
            return self._take_in(session, table_id, column, size, start)

    def _take(self, table_id: int, column: str, size: int, start: int) -> int:
        """Take ``size`` numbers; others, when a cut connection hides whether some were taken."""
        try:
            return self._take_once(table_id, column, size, start)
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            return self._take_once(table_id, column, size, start)

    def new_table_id(self) -> int:
        """An id that no table and no layout of a table has had."""
        return self._new_table_id()

    def pass_table_ids(self, highest: int) -> None:
        """Give no id up to one that somebody else has given."""
        self.skip_past(_TABLE_IDS, highest, 1, 1)

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""
        if key[1] != ROW_ID or increment != 1:
            return self._take(*key, count * increment, start)
        with self._lock:
            first, end = self._blocks.get(key, (0, 0))
            if end - first < count:
                size = max(count, _ROW_ID_BLOCK)
                first = self._take(*key, size, start)
                end = first + size
            self._blocks[key] = (first + count, end)
            return first

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""
        if (value - start) * increment >= 0:
            with self._counting() as session:
                self._skip_in(session, *key, value, increment)

    def change(self, source: NumberSource, change: Callable[[int], int]) -> None:
        """Have a source go on with what ``change`` makes of the number it would go on with."""
        with self._counting() as session:
            self._put_in(session, *source.key, source.start, change)


def reserve(session: RecordSession, table_id: int, column: str, size: int, start: int) -> int:
    """Take ``size`` (signed by the increment) off a counter; the first number taken."""
    known = execute(session, _NUMBER, [table_id, column])
    first = int(known[0][0]) if known else start
    execute(session, _PUT_NUMBER, [table_id, column, first + size])
    return first


def skip_past(
    session: RecordSession, table_id: int, column: str, value: int, increment: int
) -> None:
    """Make sure a number given explicitly is not generated later."""
    known = execute(session, _NUMBER, [table_id, column])
    if not known or (value + increment - int(known[0][0])) * increment > 0:
        execute(session, _PUT_NUMBER, [table_id, column, value + increment])


def change(
    session: RecordSession, table_id: int, column: str, start: int, change: Callable[[int], int]
) -> None:
    """Put in the place of a counter's next number what is made of it."""
    following = change(reserve(session, table_id, column, 0, start))
    execute(session, _PUT_NUMBER, [table_id, column, following])


def next_table_id(session: RecordSession) -> int:
    """An id that no table and no layout of a table has had."""
    return reserve(session, *_TABLE_IDS, 1, 1)


def following_numbers(session: RecordSession, table_id: int) -> tuple[tuple[str, int], ...]:
    """The next number of each counter of a table, by column."""
    rows = execute(session, _NUMBERS, [table_id])
    return tuple((name, int(value)) for name, value in rows)


def put_numbers(
    session: RecordSession, table_id: int, following: Sequence[tuple[str, int]]
) -> None:
    """Have counters of a table go on with these numbers."""
    for name, value in following:
        execute(session, _PUT_NUMBER, [table_id, name, value])
