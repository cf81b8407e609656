"""The commit section of a database: where buffered rows become part of a journal, or do not.

    catalog check -> conflict check -> new versions -> append -> transaction row -> state

It runs in one transaction of the server that holds the advisory lock, so that no other gateway
commits meanwhile; whoever is killed inside it leaves either everything or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.identity.suppression_list import SuppressionList
from journal.model.plan import Query
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import RowCounts, Tier
from journal.model.store_session import RowSet, StagedRows
from journal.model.version import HybridClock, Version
from journal.records.catalog import put_journal, put_state, record_commit
from journal.records.catalog_format import JournalRow, StateRow
from journal.sql.relations import Reader, column, version_value
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of
from journal.stores.postgres import classic_writers, flat, layout, public, readers, stale_writes
from journal.stores.postgres import suppression_triggers as fencing
from journal.stores.postgres.adopt_ddl import TAKEN, bare, take_over
from journal.stores.postgres.catalog import record_inline
from journal.stores.postgres.jobs import replaced, was_erased
from journal.stores.postgres.rows import show_rows, staged_table
from journal.stores.postgres.store import PostgresSession
from journal.transactions import conflicts, references
from journal.transactions.commit_plan import (
    CommitPlan,
    commit_plan,
    newer_versions,
    with_definition,
)
from journal.transactions.conflicts import check_catalog
from journal.transactions.restamp import restamp_query
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, inline_row

Alongside = Callable[[PostgresSession], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class SectionResult:
    """What will be true once the section's transaction is committed.

    ``version`` is the one that tells whether it was: None where no row of it is written.
    """

    row: StateRow
    state: JournalState
    version: Version | None = None


def write(
    session: PostgresSession,
    transaction: Transaction,
    committed: JournalState,
    row: StateRow,
    clock: HybridClock,
    author: Author,
    alongside: Alongside | None = None,
) -> SectionResult:
    """Check and append a transaction's writes; the caller commits.

    ``alongside`` does what else belongs to the commit, before and after what it does to tables.
    """
    check_catalog(transaction, committed)
    buffered = (committed.catalog.by_id(i) for i in sorted(transaction.buffered_tables()))
    written_flat = classic_writers.keep_out(session, buffered)
    check_conflicts(session, transaction, committed)
    _check_references(session, transaction, committed)
    writes = transaction.writes
    for table in written_flat:
        classic_writers.pass_buffered(session, table, clock, _mine(table))
    # Others may have read and written since the statements ran: now nobody can any more.
    floor = writes[0].version if written_flat else clock.floor
    plan = commit_plan(committed, writes, newer_versions(writes, clock, floor))
    catalog = plan.catalog
    changed_catalog = catalog is not committed.catalog
    held = public.granted(session, committed.catalog, catalog) if changed_catalog else []
    with ExitStack() as around:
        if alongside is not None:
            around.enter_context(alongside(session))
        around.enter_context(readers.following(session, _taken_now(session, plan, committed)))
        tables = _append(session, committed, plan)
        if changed_catalog:
            _fence_changed(session, committed, catalog)
            public.drop_changed(session, committed.catalog, catalog)
        _refresh(session, committed, catalog, tables)
    if changed_catalog:
        public.refresh_views(session, catalog)
        public.grant_again(session, held, committed.catalog, catalog)
    following = record_commit(session, row, plan, committed, tables, (transaction.message, author))
    return SectionResult(following, plan.next_state(committed, tables), plan.version)


def _mine(table: Table) -> str:
    """What the rows that a transaction has written to a table are shown as."""
    return f"mine_{table.id}"


def _taken_now(session: PostgresSession, plan: CommitPlan, committed: JournalState) -> list[int]:
    """Plain tables that become bases now, made ready for it."""
    tables = (t for t in plan.redefined if t.id not in committed.tables)
    return [bare(session, t) for t in tables if TAKEN in dict(t.properties)]


def check_conflicts(
    session: PostgresSession, transaction: Transaction, committed: JournalState
) -> None:
    """Raise if keys this transaction wrote were written by a commit after its snapshot."""
    for table_id in sorted(transaction.buffered_tables()):
        table = committed.catalog.by_id(table_id)
        if table is None:
            continue
        mine = _mine(table)
        if is_flat(table):
            show_rows(session, table, mine, transaction.buffered(table_id))
            session.execute(Query(flat.conflicting(table, mine), ()), {})
            if session.fetch_many(1):
                raise conflicts.conflict(table)
            continue
        epoch = transaction.snapshot.epoch_of(table_id)
        if epoch != committed.epoch_of(table_id) and was_erased(session, table_id, epoch):
            # What it has read of the erased may stand in any row it writes.
            raise conflicts.conflict(table)
        if not transaction.is_pinned(table_id, committed):
            continue
        show_rows(session, table, mine, transaction.buffered(table_id))
        theirs = _written_after(table, committed.tables[table_id], transaction.snapshot.version)
        overlap = conflicts.overlap_query(table).ast.copy()
        for found in list(overlap.find_all(exp.Table)):
            if found.name == conflicts.THEIRS:
                found.replace(theirs.subquery(found.alias_or_name))
            else:
                found.set("this", exp.to_identifier(mine))
        session.execute(Query(overlap, ()), {})
        if session.fetch_many(1):
            raise conflicts.conflict(table)


def _check_references(
    session: PostgresSession, transaction: Transaction, committed: JournalState
) -> None:
    def show(table: Table, name: str) -> None:
        show_rows(session, table, name, transaction.buffered(table.id))

    references.check_references(session, transaction, committed, show)


def _written_after(table: Table, state: TableState, version: Version) -> exp.Select:
    """The journal rows that were committed after a version."""
    rows = Reader(table, _tiers_after(state, version)).journal()
    written = exp.Coalesce(
        this=column(table.format.subsequent_column),
        expressions=[column(table.format.version_column)],
    )
    limit = version_value(table, exp.Literal.number(version))
    later = exp.GT(this=written, expression=limit)
    return exp.select("*").from_(rows.subquery("j")).where(later)


def _tiers_after(state: TableState, version: Version) -> frozenset[Tier]:
    """The tiers with rows that were written after a version."""
    old = [s.max_version <= version for s in state.manifest.in_tier(Tier.HISTORY)]
    return state.tiers - {Tier.HISTORY} if all(old) else state.tiers


def _append(
    session: PostgresSession, committed: JournalState, plan: CommitPlan
) -> dict[int, TableState]:
    states: dict[int, TableState] = {}
    for table in plan.redefined:
        old = states.get(table.id, committed.tables.get(table.id))
        states[table.id] = _with_definition(session, old, table, plan.version)
    for table_id, sets in plan.rows.items():
        state = states.get(table_id) or committed.tables[table_id]
        table = plan.definitions[table_id]
        incoming = _mine(table)
        if not is_flat(table) or table_id in states:
            # Nobody has looked at the rows yet, or only as they were defined before.
            incoming = f"incoming_{table_id}"
            show_rows(session, table, incoming, sets)
        rows = _restamped(table, incoming, plan.overtaken)
        states[table_id] = _with_rows(session, state, table, rows, sets, plan.version)
    return states


def _with_definition(
    session: PostgresSession, old: TableState | None, table: Table, version: Version
) -> TableState:
    if is_flat(table):
        return _with_flat(session, old, table, version)
    known, fields = with_definition(old, table, version), fields_of(table)
    if known.manifest.heads and known.manifest.heads[-1].fields == fields:
        return known
    manifest = known.manifest.with_head(fields)
    layout.create_head(session, table, manifest.heads[-1])
    if old is None and TAKEN in dict(table.properties):
        manifest = replace(manifest, segments=(take_over(session, table, version),))
    return replace(known, manifest=manifest)


def _with_flat(
    session: PostgresSession, old: TableState | None, table: Table, version: Version
) -> TableState:
    """A flat journal gets the columns that were added, and keeps those that were dropped."""
    fields = fields_of(table)
    manifest = flat.flat_manifest(fields, version)
    known = with_definition(old, table, version)
    if old is None:
        return replace(known, manifest=manifest)
    before = old.manifest.segments[0].fields
    if before == fields:
        return known
    flat.change_columns(session, table, before)
    segments = (*manifest.segments, *flat.moved(old.manifest))
    following = replace(old.manifest, generation=old.manifest.generation + 1, segments=segments)
    return replace(known, manifest=following)


def _restamped(table: Table, source: str, mapping: Mapping[Version, Version]) -> exp.Query:
    """Buffered rows of a table, which are shown as ``source``, with the versions they get."""
    names = table.journal_columns
    rows = exp.select(*[column(n) for n in names]).from_(source)
    return restamp_query(rows, table, mapping) if mapping else rows


def _with_rows(
    session: PostgresSession,
    state: TableState,
    table: Table,
    rows: exp.Query,
    sets: Sequence[RowSet],
    version: Version,
) -> TableState:
    if is_flat(table):
        _, above = flat.append(session, table, Query(rows, ()), {})
        assert above is None, "the versions were taken above it, and nobody else can write"
        return replace(state, last_version=version)
    target = layout.head_table(table.id, state.manifest.heads[-1])
    session.run(layout.insert_into(table, target, rows))
    layout.drop_tables(session, _staged_tables(sets))
    counts = sum((s.counts for s in sets), state.head_counts)
    return replace(state, last_version=version, head_counts=counts)


def _refresh(
    session: PostgresSession,
    committed: JournalState,
    catalog: CatalogSnapshot,
    changed: Mapping[int, TableState],
) -> None:
    """Make the views of changed journals say what is true."""
    for table_id, state in changed.items():
        old = committed.tables.get(table_id)
        moved = old is None or old.manifest != state.manifest
        for shape in state.layouts:
            if moved or (old is not None and shape not in old.layouts):
                layout.refresh_tiers(session, shape, state.manifest)
        now = catalog.by_id(table_id)
        same_definition = committed.catalog.by_id(table_id) == now
        if now is not None and (old is None or _shown(old) != _shown(state) or not same_definition):
            public.refresh_table(session, now, state)


def _fence_changed(
    session: PostgresSession, committed: JournalState, catalog: CatalogSnapshot
) -> None:
    """Fence adopted journals as their tables are defined now; those that are left go free."""
    for table in filter(is_flat, catalog.tables()):
        if committed.catalog.by_id(table.id) != table:
            fencing.fence_journal(session, table, committed.fence)
            stale_writes.put_trigger(session, table)
    for table in filter(is_flat, committed.catalog.tables()):
        if catalog.by_id(table.id) is None:
            fencing.unfence_journal(session, table)
            stale_writes.drop_trigger(session, table)


def _shown(state: TableState) -> tuple[frozenset[Tier], int]:
    """What the views of a table depend on besides its definition."""
    return public.shown_tiers(state), state.manifest.epoch


def replace_states(
    session: PostgresSession,
    committed: JournalState,
    row: StateRow,
    states: Mapping[int, TableState],
    fence: SuppressionList | None = None,
) -> SectionResult:
    """List other pieces of journals, and perhaps fence other rows; the caller commits."""
    following = replace(row, generation=row.generation + 1)
    if fence is not None:
        following = replace(following, fence=following.generation)
    after = committed.with_tables(states, fence)
    session.read_epochs(after.epoch_of)
    for table_id, state in states.items():
        for shape in state.layouts:
            layout.refresh_tiers(session, shape, state.manifest)
        replaced(session, table_id, state.manifest.epoch)
        table = committed.catalog.by_id(table_id)
        if table is not None:
            public.refresh_table(session, table, state)
        found = JournalRow(table_id, state.manifest, state.last_version, state.head_counts)
        put_journal(session, found, following.generation)
    for table in committed.catalog.tables():
        if is_flat(table) and (fence is not None or table.id in states):
            fencing.fence_journal(session, table, after.fence)
        if is_flat(table) and table.id in states:
            stale_writes.put_trigger(session, table)
    put_state(session, following)
    return SectionResult(following, after)


def write_inline(
    session: PostgresSession,
    committed: JournalState,
    row: StateRow,
    version: Version,
    appended: Mapping[int, RowCounts],
    digest: str,
    message: str | None,
    author: Author,
) -> SectionResult:
    """Record what an inline statement has appended; the caller commits."""
    following = replace(row, generation=row.generation + 1, version=version)
    tables = {
        table_id: replace(
            committed.tables[table_id],
            last_version=version,
            head_counts=_counted(committed, table_id, counts),
        )
        for table_id, counts in appended.items()
    }
    added = {
        i: counts if committed.tables[i].manifest.heads else RowCounts()
        for i, counts in appended.items()
    }
    _refresh(session, committed, committed.catalog, tables)
    found = inline_row(version, digest, message, author, committed.catalog, appended)
    record_inline(session, added, found, following)
    return SectionResult(
        following, committed.committed(version, committed.catalog, tables), version
    )


def _counted(committed: JournalState, table_id: int, counts: RowCounts) -> RowCounts:
    """Rows in the heads of a table; nobody counts those of a flat journal."""
    before = committed.tables[table_id]
    return before.head_counts + counts if before.manifest.heads else before.head_counts


def _staged_tables(sets: Iterable[RowSet]) -> list[exp.Table]:
    return [staged_table(f) for s in sets if isinstance(s, StagedRows) for f in s.files]
