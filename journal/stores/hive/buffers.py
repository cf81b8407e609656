"""The buffers of open transactions as one Arrow table each, so that many small writes stay cheap.

A statement reads what the transaction has written before it; putting a thousand pieces together for
each of a thousand statements would cost a million. Thread-safe; knows nothing of SQL.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from journal.local_engine.rows import combine_rows
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import RowCounts
from journal.model.store_session import MemoryRows, RowSet
from journal.transactions.transaction import Transaction


@dataclass(slots=True)
class _CombinedRows:
    """The first ``count`` pieces as one, and the ``last`` of them, by which they are known."""

    count: int
    last: RowSet
    rows: MemoryRows


class Buffers:
    """Remembers, by transaction and table, the pieces that were put together before."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Transaction, dict[int, _CombinedRows]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def combined(
        self, transaction: Transaction, table_id: int, sets: Sequence[RowSet]
    ) -> Sequence[RowSet]:
        """The same rows in one piece, where all are in memory and of the same columns."""
        if len(sets) < 2 or not all(isinstance(r, MemoryRows) for r in sets):
            return sets
        memory = [r for r in sets if isinstance(r, MemoryRows)]
        if any(r.fields != memory[0].fields for r in memory):
            return sets
        with self._lock:
            tables = self._known.setdefault(transaction, {})
            known = tables.get(table_id)
            if known is not None and known.count <= len(sets):
                if known.last is sets[known.count - 1]:
                    memory = [known.rows, *memory[known.count :]]
            rows = combine_rows(memory)
            counts = sum((r.counts for r in memory), RowCounts())
            made = MemoryRows(rows.combine_chunks(), counts, memory[0].fields)
            tables[table_id] = _CombinedRows(len(sets), sets[-1], made)
            return [made]
