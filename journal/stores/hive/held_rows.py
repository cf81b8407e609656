"""Finds rows by key in memory: a transaction's own rows, and held segments.

    own rows in buffers -> rows in the catalog -> segments of the snapshot, all held here -> none

Held segments never change and a manifest names all there are, so a key that is not found is not
taken. Where a segment is not held nothing is known, and nothing is read here. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from journal.model.point_rows import KeyLookup
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.transactions.pieces import newest_row
from journal.transactions.plain_rows import Key, Row
from journal.transactions.protocol import OpenStatement
from journal.transactions.row_cache import find_rows
from journal.transactions.transaction import Transaction

_NONE = Row(0, None)


class RowsByKey:
    """Rows by key, as one transaction or another sees them, without asking the server.

    ``newest`` tells what a key shows in segments, if these are held; ``statement`` starts one.
    """

    is_complete = True

    def __init__(
        self,
        newest: Callable[[Table, Key, Sequence[Segment]], Row | None],
        statement: Callable[[Transaction], OpenStatement],
    ) -> None:
        self._newest = newest
        self._statement = statement

    def rows(
        self, transaction: Transaction, keyed: Iterable[KeyLookup], parameters: Mapping[str, Any]
    ) -> list[tuple[Table, Row]] | None:
        """Looked-up rows as a transaction sees them, if that is known."""
        return find_rows(self.seen_by, transaction, keyed, parameters)

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction; None if that is not known here."""
        try:
            own = newest_row(table, transaction.buffered(table.id), key)
        except KeyError:
            return None
        if own is not None:
            return own
        state = transaction.snapshot.tables.get(table.id)
        if state is None or not (state.manifest.segments or state.inlined):
            return _NONE
        if state.manifest.masks:
            return None
        if state.inlined:
            # They are newer than whatever the segments have.
            try:
                newest = state.inlined.newest(table, key)
            except KeyError:
                return None
            if newest is not None:
                return newest
        return self._newest(table, key, state.manifest.segments)

    def check_latest(self, transaction: Transaction, table: Table, row: Row) -> None:
        """Nothing is known of what others have written since; the commit finds out."""

    def detached_statement(self, transaction: Transaction) -> OpenStatement:
        """A statement that reads nothing that is committed; close what is returned."""
        return self._statement(transaction)
