"""What rows of a key are there, told from memory: a transaction's own, and segments held here.

    own rows in buffers -> segments of the snapshot's manifest, all of them held -> none

Held segments never change and a manifest names all there are, so a key that is not found is not
taken. Where a segment is not held nothing is known, and nothing is read here. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from journal.model.plan import KeyLookup
from journal.model.schema import Table
from journal.model.store_session import RowSet
from journal.transactions.plain_rows import Key, Row, later
from journal.transactions.row_cache import find_rows, newest_rows
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal
    from journal.stores.hive.statement import HiveStatement

_NONE = Row(0, None)


@dataclass(slots=True)
class _Own:
    """The newest rows by key of the first ``count`` of a transaction's row sets."""

    table: Table
    count: int
    last: RowSet
    rows: dict[Key, Row]


class RowsByKey:
    """Rows by key, as one transaction or another sees them, without asking the server."""

    is_complete = True

    def __init__(self, journal: HiveJournal) -> None:
        self._journal = journal
        self._own: WeakKeyDictionary[Transaction, dict[int, _Own]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def rows(
        self, transaction: Transaction, keyed: Iterable[KeyLookup], parameters: Mapping[str, Any]
    ) -> list[tuple[Table, Row]] | None:
        """Looked-up rows as a transaction sees them, if that is known."""
        return find_rows(self.seen_by, transaction, keyed, parameters)

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction; None if that is not known here."""
        own = self._own_rows(transaction, table, transaction.buffered(table.id))
        if own is None:
            return None
        found = own.get(key)
        if found is not None:
            return found
        state = transaction.snapshot.tables.get(table.id)
        if state is None or not state.manifest.segments:
            return _NONE
        if state.manifest.masks:
            return None
        return self._journal.held.newest(table, key, state.manifest.segments)

    def check_latest(self, transaction: Transaction, table: Table, row: Row) -> None:
        """Nothing is known of what others have written since; the commit finds out."""

    def detached_statement(self, transaction: Transaction) -> HiveStatement:
        """A statement that reads nothing that is committed; close what is returned."""
        return self._journal.statement(transaction)

    def _own_rows(
        self, transaction: Transaction, table: Table, sets: Sequence[RowSet]
    ) -> Mapping[Key, Row] | None:
        if not sets:
            return {}
        with self._lock:
            tables = self._own.setdefault(transaction, {})
            known = tables.get(table.id)
            if known is None or not _is_prefix(known, table, sets):
                known = tables[table.id] = _Own(table, 0, sets[0], {})
            new = newest_rows(table, sets[known.count :])
            if new is None:
                del tables[table.id]
                return None
            for key, row in new.items():
                known.rows[key] = later(known.rows.get(key), row)
            known.count, known.last = len(sets), sets[-1]
            return known.rows


def _is_prefix(known: _Own, table: Table, sets: Sequence[RowSet]) -> bool:
    if known.table is not table or known.count > len(sets):
        return False
    return known.count > 0 and sets[known.count - 1] is known.last
