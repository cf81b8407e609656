"""Generated numbers of journals with a catalog in a database: identity values and hidden row ids.

Several processes take them, so they are taken in the database, in a transaction of their own. Row
ids are taken in blocks. Numbers of a transaction that rolls back are lost, as with any sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from journal.model.counters import CounterKey
from journal.model.schema import ROW_ID
from journal.model.store_session import RecordSession
from journal.records.schema import COUNTERS
from journal.records.statements import by, execute, select, upsert

_ROW_ID_BLOCK = 1 << 12
_NUMBER = select(COUNTERS, ["value"], by("table_id", "column_name"))
_PUT_NUMBER = upsert(COUNTERS)


class DatabaseNumbers:
    """Takes numbers off the database's counters.

    ``take`` is given table id, column, size (signed by the increment) and start; ``skip`` table id,
    column, value and increment.
    """

    def __init__(
        self,
        take: Callable[[int, str, int, int], int],
        skip: Callable[[int, str, int, int], None],
    ) -> None:
        self._take = take
        self._skip = skip
        self._blocks: dict[CounterKey, tuple[int, int]] = {}
        self._lock = threading.Lock()

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
            self._skip(*key, value, increment)


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
