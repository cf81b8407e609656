"""The commit section: where buffered rows become part of a journal, or do not.

    catalog check -> conflict check -> restamp -> append -> transaction row -> COMMIT -> publish

It runs under one lock, in one transaction of the store; whoever is killed inside it leaves either
everything or nothing. It decides nothing about SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from journal.local_engine import layout
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, PutRelation
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import Head, Manifest, RowCounts, Segment
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.model.version import HybridClock, Version
from journal.records.catalog import add_changes
from journal.records.catalog_format import get_meta, put_meta
from journal.sql.counting import count_rows
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import public
from journal.stores.embedded.head_rows import insert_rows
from journal.stores.embedded.warehouse import Warehouse
from journal.transactions import conflicts
from journal.transactions.commit_plan import (
    CommitPlan,
    commit_plan,
    newer_versions,
    with_definition,
)
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
        key = (table.id, table.key, table.uniques, table.unique_indexes)
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
        show_rows(session, table, conflicts.MINE.name, transaction.buffered(table_id))
        show_rows(session, table, conflicts.THEIRS.name, theirs)
        overlap = conflicts.overlap_query(table, conflicts.MINE, conflicts.THEIRS)
        found = session.arrow(overlap, {})
        session.hide(conflicts.MINE.name, conflicts.THEIRS.name)
        if found.num_rows:
            raise conflicts.conflict(table)


def planned(
    warehouse: Warehouse,
    session: DuckDBSession,
    transaction: Transaction,
    committed: JournalState,
    clock: HybridClock,
    floor: Version,
) -> CommitPlan:
    """The plan of a transaction's writes, whose rows have versions above ``floor``."""
    writes: Sequence[StatementWrites] = transaction.writes
    overtaken = newer_versions(writes, clock, floor)
    if overtaken:
        tables = {t.id: t for t in transaction.snapshot.catalog.tables()}
        for _, change in transaction.changes():
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                tables[change.relation.id] = change.relation
        writes = [
            replace(
                w,
                version=overtaken[w.version],
                rows=tuple(
                    (i, _restamp(warehouse, session, tables[i], rows, overtaken))
                    for i, rows in w.rows
                ),
            )
            for w in writes
        ]
    return commit_plan(committed, writes)


def _restamp(
    warehouse: Warehouse,
    session: DuckDBSession,
    table: Table,
    rows: RowSet,
    mapping: Mapping[Version, Version],
) -> RowSet:
    if isinstance(rows, MemoryRows):
        return replace(rows, source=restamp_rows(rows.rows, table, mapping), columns=None)
    source = layout.segment_rows(table, [f.path for f in rows.files], rows.fields, warehouse.root)
    query = layout.segment_query(table, restamp_query(source, table, mapping))
    files = warehouse.write_segment(session, table, query, {})
    return StagedRows(files, layout.fields_of(table), rows.counts)


def append(
    warehouse: Warehouse, session: DuckDBSession, committed: JournalState, plan: CommitPlan
) -> dict[int, TableState]:
    """Append rows to journals as they are defined now; the new state of each changed journal."""
    return plan.states(
        committed,
        lambda old, table: defined(session, old, table, plan.version),
        lambda state, table, sets: _with_rows(warehouse, session, state, plan, table.id, sets),
    )


def defined(
    session: DuckDBSession, old: TableState | None, table: Table, version: Version
) -> TableState:
    """A journal as it is defined at ``version``, with a head that takes such rows."""
    known = with_definition(old, table, version)
    newest = known.manifest.heads[-1:]
    manifest = known.manifest.with_head_for(layout.fields_of(table))
    if manifest is known.manifest:
        return known
    layout.create_head(session, table, manifest.heads[-1])
    if newest and not count_head(session, table, newest[0]).total:
        layout.drop_head(session, table.id, newest[0])
        manifest = manifest.sealed(newest, ())
    return replace(known, manifest=manifest)


def _with_rows(
    warehouse: Warehouse,
    session: DuckDBSession,
    state: TableState,
    plan: CommitPlan,
    table_id: int,
    sets: Sequence[RowSet],
) -> TableState:
    memory = [s for s in sets if isinstance(s, MemoryRows)]
    staged = [s for s in sets if isinstance(s, StagedRows)]
    counts = state.head_counts
    manifest = state.manifest
    if memory:
        insert_rows(session, plan.definitions[table_id], manifest.heads[-1], memory)
        counts = sum((m.counts for m in memory), counts)
    if staged:
        versions = (plan.first_version, plan.version)
        names = [warehouse.segment_id(s.files[0].path) for s in staged]
        manifest = manifest.with_segments(
            Segment.of_changes(name, s.files, s.fields, s.counts, versions)
            for name, s in zip(names, staged, strict=True)
        )
    return replace(state, manifest=manifest, last_version=plan.version, head_counts=counts)


def write_catalog(
    warehouse: Warehouse,
    session: DuckDBSession,
    committed: JournalState,
    catalog: CatalogSnapshot,
    changes: Sequence[tuple[Version, CatalogChange]],
    changed: Mapping[int, TableState],
) -> None:
    """Store catalog changes, changed manifests, and the views of changed tables."""
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
    return count_rows(session, table, layout.head_table(table.id, head))


def drop_head(session: DuckDBSession, table_id: int, head: Head) -> None:
    """Drop the table behind a head that no manifest lists any more."""
    layout.drop_head(session, table_id, head)
