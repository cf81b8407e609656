"""The commit section: where buffered rows become part of a journal, or do not.

    catalog check -> conflict check -> restamp -> append -> transaction row -> COMMIT -> publish

It runs under one lock, in one transaction of the store; whoever is killed inside it leaves either
everything or nothing. It decides nothing about SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from journal.local_engine import layout
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.plan import PutRelation
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import Head, Manifest, RowCounts, Segment, Tier
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.model.version import HybridClock, Version
from journal.records.catalog import add_changes
from journal.records.catalog_format import get_meta, put_meta
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import public
from journal.stores.embedded.head_rows import insert_rows
from journal.stores.embedded.warehouse import Warehouse
from journal.transactions import conflicts
from journal.transactions.restamp import restamp_query, restamp_rows
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import StatementWrites, Transaction


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The rows of a commit, kept while an older transaction is still open."""

    version: Version
    rows: Mapping[int, Sequence[RowSet]]
    _claims: dict[object, frozenset[conflicts.Claim] | None] = field(default_factory=dict)

    def claims(self, table: Table) -> frozenset[conflicts.Claim] | None:
        """What the commit laid claim to in a table; None where only the store can tell."""
        key = (table.id, table.key, table.uniques)
        if key not in self._claims:
            self._claims[key] = conflicts.claims(table, self.rows[table.id])
        return self._claims[key]


def check_conflicts(
    session: DuckDBSession,
    transaction: Transaction,
    committed: JournalState,
    records: Iterable[CommitRecord],
) -> None:
    """Raise if keys this transaction wrote were written by a commit after its snapshot."""
    later = [r for r in records if r.version > transaction.snapshot.version]
    for table_id in sorted(transaction.buffered_tables()):
        records_of = [r for r in later if table_id in r.rows]
        table = committed.catalog.by_id(table_id)
        if not records_of or table is None:
            continue
        claimed = conflicts.claims(table, transaction.buffered(table_id))
        others = [r.claims(table) for r in records_of]
        if claimed is not None and None not in others:
            if conflicts.clash(claimed, [o for o in others if o is not None]):
                raise conflicts.conflict(table)
            continue
        theirs = [s for r in records_of for s in r.rows[table_id]]
        show_rows(session, table, conflicts.MINE, transaction.buffered(table_id))
        show_rows(session, table, conflicts.THEIRS, theirs)
        found = session.arrow(conflicts.overlap_query(table), {})
        session.hide(conflicts.MINE, conflicts.THEIRS)
        if found.num_rows:
            raise conflicts.conflict(table)


def restamped(
    warehouse: Warehouse,
    session: DuckDBSession,
    transaction: Transaction,
    clock: HybridClock,
    floor: Version,
) -> list[StatementWrites]:
    """The transaction's writes under versions above ``floor``: all that is settled."""
    writes = transaction.writes
    if writes[0].version > floor:
        return writes
    mapping = {w.version: clock.next() for w in writes}
    tables = _definitions(transaction.snapshot.catalog, writes)
    result = []
    for statement in writes:
        rows = []
        for table_id, row_set in statement.rows:
            restamped_set = _restamp(warehouse, session, tables[table_id], row_set, mapping)
            rows.append((table_id, restamped_set))
        result.append(replace(statement, version=mapping[statement.version], rows=tuple(rows)))
    return result


def _restamp(
    warehouse: Warehouse,
    session: DuckDBSession,
    table: Table,
    rows: RowSet,
    mapping: Mapping[Version, Version],
) -> RowSet:
    if isinstance(rows, MemoryRows):
        return replace(rows, rows=restamp_rows(rows.rows, table, mapping))
    source = layout.segment_rows(table, [f.path for f in rows.files], rows.fields, warehouse.root)
    query = layout.segment_query(table, restamp_query(source, table, mapping))
    files = warehouse.write_segment(session, table, query, {})
    return StagedRows(files, layout.fields_of(table), rows.counts)


def _definitions(catalog: CatalogSnapshot, writes: Iterable[StatementWrites]) -> dict[int, Table]:
    """The last definition of each table, dropped ones included."""
    found = {t.id: t for t in catalog.tables()}
    for statement in writes:
        for change in statement.changes:
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                found[change.relation.id] = change.relation
    return found


@dataclass(slots=True)
class Appended:
    """The journals a commit has changed so far."""

    tables: dict[int, TableState]
    rows: dict[int, tuple[RowSet, ...]]


def append(
    warehouse: Warehouse,
    session: DuckDBSession,
    committed: JournalState,
    writes: Sequence[StatementWrites],
) -> Appended:
    """Apply catalog changes and append rows; returns the new state of each changed journal."""
    version = writes[-1].version
    before = committed.tables
    states: dict[int, TableState] = {}
    for statement in writes:
        for change in statement.changes:
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                table = change.relation
                old = states.get(table.id, before.get(table.id))
                states[table.id] = _with_definition(session, old, table, version)
    rows: dict[int, tuple[RowSet, ...]] = {}
    definitions = _definitions(committed.catalog, writes)
    for table_id in dict.fromkeys(t for w in writes for t, _ in w.rows):
        definition = definitions[table_id]
        sets = tuple(r for w in writes for t, r in w.rows if t == table_id)
        state = states.get(table_id) or before[table_id]
        first = writes[0].version
        states[table_id] = _with_rows(warehouse, session, state, definition, sets, first, version)
        rows[table_id] = sets
    return Appended(states, rows)


def _with_definition(
    session: DuckDBSession, old: TableState | None, table: Table, version: Version
) -> TableState:
    fields = layout.fields_of(table)
    if old is None:
        head = Head(1, fields)
        layout.create_head(session, table, head)
        return TableState(Manifest(1, (head,)), version, RowCounts(), (table,))
    known = replace(old.with_layout(table), last_version=version)
    if old.manifest.heads and old.manifest.heads[-1].fields == fields:
        return known
    manifest = old.manifest.with_head(fields)
    layout.create_head(session, table, manifest.heads[-1])
    newest = old.manifest.heads[-1:]
    if not any(count_head(session, table, head).total for head in newest):
        for head in newest:
            layout.drop_head(session, table.id, head)
        manifest = manifest.sealed(newest, ())
    return replace(known, manifest=manifest)


def _with_rows(
    warehouse: Warehouse,
    session: DuckDBSession,
    state: TableState,
    table: Table,
    sets: Sequence[RowSet],
    first: Version,
    version: Version,
) -> TableState:
    memory = [s for s in sets if isinstance(s, MemoryRows)]
    staged = [s for s in sets if isinstance(s, StagedRows)]
    counts = state.head_counts
    manifest = state.manifest
    if memory:
        insert_rows(session, table, manifest.heads[-1], memory)
        counts = sum((m.counts for m in memory), counts)
    if staged:
        segments = [_segment(warehouse, s, first, version) for s in staged]
        manifest = manifest.with_segments(segments)
    return replace(state, manifest=manifest, last_version=version, head_counts=counts)


def _segment(warehouse: Warehouse, staged: StagedRows, first: Version, last: Version) -> Segment:
    only_open = staged.counts.closing == 0 and staged.counts.tombstone == 0
    return Segment(
        id=warehouse.segment_id(staged.files[0].path),
        tier=Tier.BASE if only_open else Tier.DELTA,
        files=staged.files,
        fields=staged.fields,
        counts=staged.counts,
        min_version=first,
        max_version=last,
    )


def write_catalog(
    warehouse: Warehouse,
    session: DuckDBSession,
    committed: JournalState,
    catalog: CatalogSnapshot,
    writes: Sequence[StatementWrites],
    changed: Mapping[int, TableState],
) -> None:
    """Store catalog changes, changed manifests, and the views of changed tables."""
    changes = [(writes[-1].version, c) for w in writes for c in w.changes]
    add_changes(session, changes)
    if changes:
        public.drop_changed(session, committed.catalog, catalog)
    for table_id, state in changed.items():
        old = committed.tables.get(table_id)
        moved = old is None or old.manifest != state.manifest
        if moved:
            rows_of.put_manifest(session, table_id, state.manifest)
        for shape in state.layouts:
            if old is not None and shape in old.layouts:
                if not moved or old.seen_by(shape) == state.seen_by(shape):
                    continue
            layout.refresh_tiers(session, shape, state.seen_by(shape), warehouse.root)
        now = catalog.by_id(table_id)
        same_definition = committed.catalog.by_id(table_id) == now
        if now is not None and (old is None or old.tiers != state.tiers or not same_definition):
            public.refresh_table(session, now, state.tiers)


def refresh_all(
    session: DuckDBSession,
    catalog: CatalogSnapshot,
    tables: Mapping[int, TableState],
    root: Path,
) -> None:
    """Write every view anew, for a warehouse that was made or moved."""
    for state in tables.values():
        for shape in state.layouts:
            layout.refresh_tiers(session, shape, state.seen_by(shape), root)
    for table in catalog.tables():
        if table.id in tables:
            public.refresh_table(session, table, tables[table.id].tiers)


def settle_in(
    session: DuckDBSession,
    catalog: CatalogSnapshot,
    tables: Mapping[int, TableState],
    root: Path,
) -> None:
    """Write the views anew if the warehouse lies elsewhere than when they were written."""
    here = str(root.resolve())
    if get_meta(session, "root") != here:
        refresh_all(session, catalog, tables, root)
        put_meta(session, "root", here)


def count_heads(session: DuckDBSession, table: Table, manifest: Manifest) -> RowCounts:
    """How many rows of each kind a journal's heads hold."""
    counts = RowCounts()
    for head in manifest.heads:
        counts = counts + count_head(session, table, head)
    return counts


def count_head(session: DuckDBSession, table: Table, head: Head) -> RowCounts:
    """How many rows of each kind one head holds."""
    return layout.count_rows(session, table, layout.head_table(table.id, head))


def drop_head(session: DuckDBSession, table_id: int, head: Head) -> None:
    """Drop the table behind a head that no manifest lists any more."""
    layout.drop_head(session, table_id, head)
