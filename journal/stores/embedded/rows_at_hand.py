"""Looks rows up by key in memory: in the row cache, then in decoded row groups.

    own rows -> written lately -> surely in no head? --yes--> sealed row groups --> none
                                                     --no---> not known: the store is asked

A key is in no head of a snapshot if everything that was written to those heads is in memory, and
the key is not. So it is kept since when each head takes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import ref

from journal.model.point_rows import KeyLookup
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.version import Version
from journal.sql.relations_flat import is_flat
from journal.stores.embedded.sealed_rows import Check, SealedRows
from journal.transactions.conflicts import conflict
from journal.transactions.plain_rows import Key, Row
from journal.transactions.protocol import OpenStatement
from journal.transactions.row_cache import RowCache, Written, find_rows, only_moved
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction

Detached = Callable[[Transaction], OpenStatement]


class RowsAtHand:
    """Rows by key of one warehouse; what changes them is told inside commit sections.

    ``check`` raises for a file that is missing or was altered; ``detached`` makes a statement that
    reads nothing of the store.
    """

    is_complete = False

    def __init__(self, root: Path, check: Check, detached: Detached) -> None:
        self._detached = detached
        self.recent = RowCache()
        self.sealed = SealedRows(root, check)
        self._heads: dict[int, dict[int, Version]] = {}
        """By table and generation of a head: after which version its rows were written."""
        self._found: tuple[ref[Transaction], Table, Key, Row] | None = None
        """The sealed row found last: a statement asks for its row several times."""

    def rows(
        self, transaction: Transaction, keyed: Iterable[KeyLookup], parameters: Mapping[str, Any]
    ) -> list[tuple[Table, Row]] | None:
        """Looked-up rows as a transaction sees them, if all are known."""
        return find_rows(self.seen_by, transaction, keyed, parameters)

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction; None if that is not known."""
        try:
            found = self.recent.seen_by(transaction, table, key)
        except KeyError:
            return None
        if found is not None:
            return found
        state = transaction.snapshot.tables.get(table.id)
        if state is None or state.manifest.masks or is_flat(table):
            return None
        if not self._is_in_no_head(table, key, state):
            return None
        last = self._found
        if last is not None and last[0]() is transaction and last[1] is table and last[2] == key:
            return last[3]
        row = self.sealed.newest(table, key, state)
        if row is not None:
            self._found = (ref(transaction), table, key, row)
        return row

    def check_latest(self, transaction: Transaction, table: Table, row: Row) -> None:
        """Raise SERIALIZATION if it is known already that a change of this row comes second."""
        if self.recent.is_overtaken(table, row, transaction.snapshot.version):
            raise conflict(table)

    def detached_statement(self, transaction: Transaction) -> OpenStatement:
        """A statement that reads nothing of the store; close what is returned."""
        return self._detached(transaction)

    def clear(self, version: Version) -> None:
        """Know nothing any more of what was written up to a version."""
        self._heads.clear()
        self.recent.clear(version)

    def take(self, before: JournalState, after: JournalState, written: Written) -> None:
        """Take in what a commit wrote, before anybody can begin at ``after``."""
        if after.catalog is not before.catalog:
            self.clear(after.version)
            return
        for table_id in written:
            state = before.tables.get(table_id)
            if state is not None and not state.head_counts.total:
                heads = state.manifest.heads
                self._heads[table_id] = {h.generation: before.version for h in heads}
        self.recent.take(after.version, written, after.catalog)

    def follow(self, committed: JournalState, states: Mapping[int, TableState]) -> None:
        """Note manifests that take the place of the committed ones."""
        for table_id, state in states.items():
            before, after = committed.tables[table_id], state.manifest
            starts = self._heads.get(table_id, {})
            if not only_moved(before.manifest, after):
                self.recent.forget(table_id, committed.version)
            elif before.head_counts == state.head_counts:
                old = {h.generation for h in before.manifest.heads}
                new = {h.generation for h in after.heads} - old
                starts = starts | dict.fromkeys(new, committed.version)
            here = {h.generation for h in after.heads}
            self._heads[table_id] = {g: v for g, v in starts.items() if g in here}
            self.sealed.forget(_paths(before.manifest) - _paths(after))

    def _is_in_no_head(self, table: Table, key: Key, state: TableState) -> bool:
        """True if it is known that no head of a state has a row of a key; ask after ``recent``."""
        if self.recent.holds(table, key):
            return False
        if not state.head_counts.total:
            return True
        starts, since = self._heads.get(table.id, {}), self.recent.known_since(table.id)
        return all(starts.get(h.generation, -1) >= since for h in state.manifest.heads)


def _paths(manifest: Manifest) -> set[str]:
    return {f.path for s in manifest.segments for f in s.files}
