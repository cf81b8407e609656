"""Temporary tables and views: what they are between the transactions of the one session they have.

    begin:  a transaction is shown the relations, and the rows as their first part of its buffers
    commit: what it did to them is taken out of it; the rest goes into the commit section
    after:  what was taken out is kept here, and written together where it has become many pieces
    close:  gone

So a temporary table is a logical table that never leaves the buffers: nothing of it reaches the
catalog, a head or a manifest. Rows are held in memory, or in unlisted files where they are many,
which recovery removes if the process dies. Nothing here decides what a name means.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Values
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.model.catalog import touched
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import Definition
from journal.model.plan import Append, CatalogChange, PutRelation, Query
from journal.model.schema import (
    DROP,
    ON_COMMIT,
    CatalogSnapshot,
    Relation,
    Sequence,
    Table,
    TableName,
)
from journal.model.segment import Fields, RowCounts, SegmentFile, Tier
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.sql.held_rows import combine_rows
from journal.sql.relations import Reader, stored_outputs, version_type
from journal.sql.sql import cast
from journal.transactions.session_numbers import SessionNumbers
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction import (
    Forget,
    StatementWrites,
    Transaction,
    nothing_staged,
)

if TYPE_CHECKING:
    from journal.transactions.protocol import OpenJournal

_PIECES_MAX = 16
_PIECE_ROWS = 1 << 16
_ENDED_MIN = 1000

OwnRows = Mapping[int, tuple[RowSet, ...]]
_NOTHING: OwnRows = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TemporaryEffects:
    """What a transaction leaves behind of temporary relations, once it has committed."""

    relations: Mapping[tuple[str, str], Relation]
    sequences: Mapping[tuple[str, str], Sequence]
    definitions: Mapping[tuple[str, str, str], Definition]
    rows: OwnRows
    writes: tuple[StatementWrites, ...]

    def files(self) -> Iterable[SegmentFile]:
        """The files that the transaction itself has written."""
        return _files(rows for w in self.writes for _, rows in w.rows)


class Temporary:
    """One session's temporary relations; see the module's head. Used by one thread at a time."""

    def __init__(self, journal: OpenJournal) -> None:
        self._journal = journal
        self._relations: Mapping[tuple[str, str], Relation] = MappingProxyType({})
        self._sequences: Mapping[tuple[str, str], Sequence] = MappingProxyType({})
        self._definitions: Mapping[tuple[str, str, str], Definition] = MappingProxyType({})
        self._rows = _NOTHING
        self.numbers = SessionNumbers()
        self._shown: tuple[CatalogSnapshot, CatalogSnapshot] | None = None
        self._readers: weakref.WeakSet[Transaction] = weakref.WeakSet()
        self._unused: list[StagedRows] = []
        self._forget: Forget = nothing_staged
        self.plans: object = None

    def __bool__(self) -> bool:
        """True if there are any."""
        return bool(self._relations or self._sequences or self._definitions)

    def catalog(self, committed: CatalogSnapshot) -> CatalogSnapshot:
        """The catalog as this session sees it; the same object while nothing has changed."""
        if not self:
            return committed
        if self._shown is None or self._shown[0] is not committed:
            own = committed.with_own(self._relations, self._sequences, self._definitions)
            self._shown = (committed, own)
        return self._shown[1]

    def show(self, transaction: Transaction) -> Transaction:
        """Let a transaction that begins see them, and what numbers the session has taken."""
        transaction.numbers = self.numbers
        if self:
            transaction.with_own = self.catalog
            transaction.read_at(transaction.snapshot)
            transaction.own_rows = self._rows
            transaction.plans = self.plans
            self._readers.add(transaction)
        return transaction

    def forget(self, transaction: Transaction) -> None:
        """A transaction is over; one that is not told of may still be read to the end."""
        self._readers.discard(transaction)

    def take(self, transaction: Transaction) -> TemporaryEffects | None:
        """Take out of a transaction what it did to temporary relations; None if that is nothing."""
        if not self and not any(w.changes for w in transaction.writes):
            return None
        self.forget(transaction)
        self._forget, catalog = transaction.forget, transaction.catalog
        mine = {r.id for r in self._relations.values() if isinstance(r, Table)}
        changes = [c for w in transaction.writes for c in w.changes if _is_own(c, catalog)]
        mine |= {_put_id(change) for change in changes}
        if not changes and mine.isdisjoint(transaction.buffered_tables()):
            return self._at_commit(transaction, ()) if self._has_on_commit() else None
        own, others = [], []
        for statement in transaction.writes:
            ours = tuple(pair for pair in statement.rows if pair[0] in mine)
            done = tuple(c for c in statement.changes if _is_own(c, catalog))
            if ours or done:
                own.append(replace(statement, rows=ours, changes=done))
            rows = tuple(pair for pair in statement.rows if pair[0] not in mine)
            left = tuple(c for c in statement.changes if not _is_own(c, catalog))
            if rows or left:
                others.append(replace(statement, rows=rows, changes=left))
        taken = self._at_commit(transaction, own)
        transaction.keep_only(others)
        return taken

    def _has_on_commit(self) -> bool:
        return any(isinstance(r, Table) and on_commit(r) for r in self._relations.values())

    def _at_commit(
        self, transaction: Transaction, own: Values[StatementWrites]
    ) -> TemporaryEffects:
        """What is there after a commit."""
        relations = {
            key: relation
            for key, relation in transaction.catalog.own_relations().items()
            if not (isinstance(relation, Table) and on_commit(relation) == DROP)
        }
        rows: dict[int, tuple[RowSet, ...]] = {}
        for relation in relations.values():
            if isinstance(relation, Table) and not on_commit(relation):
                found = tuple(transaction.buffered(relation.id))
                if found:
                    rows[relation.id] = found
        sequences = MappingProxyType(transaction.catalog.own_sequences())
        definitions = MappingProxyType(transaction.catalog.own_definitions())
        kept = MappingProxyType(rows)
        return TemporaryEffects(
            MappingProxyType(relations), sequences, definitions, kept, tuple(own)
        )

    def keep(self, taken: TemporaryEffects, memory_rows_max: int) -> None:
        """Keep what a transaction has left behind, now that it has committed."""
        before = [*_staged(self._rows), *_staged_by(taken.writes)]
        before_it = (self._relations, self._sequences, self._definitions)
        self._relations, self._sequences, self._rows = taken.relations, taken.sequences, taken.rows
        self._definitions = taken.definitions
        if (taken.relations, taken.sequences, taken.definitions) != before_it:
            self._shown, self.plans = None, object() if self else None
        for relation in taken.relations.values():
            if isinstance(relation, Table):
                self._put_together(relation, memory_rows_max)
        still = {id(rows) for rows in _staged(self._rows)}
        self._unused += [rows for rows in before if id(rows) not in still]
        self._remove_unused()

    def _put_together(self, table: Table, memory_rows_max: int) -> None:
        """Have a table's rows in few pieces, and without most of those that have ended."""
        sets = self._rows.get(table.id, ())
        if len(sets) > _PIECES_MAX:
            sets = merge_row_sets(sets)
            self._rows = MappingProxyType({**self._rows, table.id: sets})
        opened = sum(rows.counts.open for rows in sets)
        ended = sum(rows.counts.total for rows in sets) - opened
        held = [rows for rows in sets if isinstance(rows, MemoryRows)]
        total = sum(rows.counts.total for rows in held)
        much = len(held) > 1 and total > memory_rows_max
        if not much and ended <= max(_ENDED_MIN, opened // 2):
            return
        try:
            found = self._current_rows(table, memory_rows_max)
        except PalimpsestError:
            # The pieces are as right as what they would have become.
            return
        rest = {i: rows for i, rows in self._rows.items() if i != table.id}
        if found is not None:
            rest[table.id] = (found,)
        self._rows = MappingProxyType(rest)

    def _current_rows(self, table: Table, memory_rows_max: int) -> RowSet | None:
        """The rows that a table shows, as one piece."""
        transaction = self.show(self._journal.begin(read_only=True))
        try:
            with self._journal.statement(transaction) as statement:
                statement.show([table.id])
                run = StatementRun({}, 0, memory_rows_max)
                statement.run(Append(table.id, _current(table)), run)
                return run.rows[0][1] if run.rows else None
        finally:
            transaction.rollback()
            self._readers.discard(transaction)

    def _remove_unused(self) -> None:
        """Remove files that neither the session nor a query that still runs reads."""
        if not self._unused:
            return
        read = {id(r) for t in self._readers for r in _staged(t.own_rows)}
        free = [rows for rows in self._unused if id(rows) not in read]
        self._unused = [rows for rows in self._unused if id(rows) in read]
        self._forget(_files(free))

    def close(self) -> None:
        """Forget everything."""
        files = [*_files(_staged(self._rows)), *_files(self._unused)]
        self._relations, self._rows, self._unused = MappingProxyType({}), _NOTHING, []
        self._sequences, self._definitions = MappingProxyType({}), MappingProxyType({})
        self._shown, self.plans = None, None
        self._forget(files)

    def concerns(self, names: Iterable[TableName]) -> bool:
        """True if temporary relations are among ``names``."""
        return bool(self._relations) and any(name.key in self._relations for name in names)


def on_commit(table: Table) -> str:
    """What a commit does to a temporary table: DROP, DELETE_ROWS, or nothing at all."""
    return dict(table.properties).get(ON_COMMIT, "")


def merge_row_sets(sets: Values[RowSet]) -> tuple[RowSet, ...]:
    """The same rows in fewer pieces: small ones that are in memory put together."""
    large: list[RowSet] = []
    small: dict[Fields, list[MemoryRows]] = {}
    for rows in sets:
        if isinstance(rows, MemoryRows) and rows.counts.total < _PIECE_ROWS:
            small.setdefault(rows.fields, []).append(rows)
        else:
            large.append(rows)
    for fields, group in small.items():
        counts = sum((rows.counts for rows in group), RowCounts())
        large.append(MemoryRows(combine_rows(group).combine_chunks(), counts, fields))
    return tuple(large)


def _is_own(change: CatalogChange, catalog: CatalogSnapshot) -> bool:
    return any(catalog.is_own(name) for name in touched(change))


def _put_id(change: CatalogChange) -> int:
    if isinstance(change, PutRelation) and isinstance(change.relation, Table):
        return change.relation.id
    return 0


def _current(table: Table) -> Query:
    """The rows a table shows, as open rows with the versions they have."""
    end = cast(exp.Null(), version_type(table))
    outputs = [*stored_outputs(table), (end, table.format.subsequent_column)]
    return Query.of(Reader(table, frozenset({Tier.BUFFER})).current(outputs))


def _staged(rows: OwnRows) -> list[StagedRows]:
    return [r for sets in rows.values() for r in sets if isinstance(r, StagedRows)]


def _staged_by(writes: Iterable[StatementWrites]) -> list[StagedRows]:
    return [r for w in writes for _, r in w.rows if isinstance(r, StagedRows)]


def _files(rows: Iterable[RowSet]) -> Iterable[SegmentFile]:
    return [file for r in rows if isinstance(r, StagedRows) for file in r.files]
