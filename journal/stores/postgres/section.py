"""The commit section of a database: where buffered rows become part of a journal, or do not.

    catalog check -> conflict check -> new versions -> append -> transaction row -> state

It runs in one transaction of the server that holds the advisory lock, so that no other gateway
commits meanwhile; whoever is killed inside it leaves either everything or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from sqlglot import exp

from journal.identity.suppression_list import SuppressionList
from journal.model.catalog import apply
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, Query
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import Head, RowCounts, Tier
from journal.model.store_session import RowSet, StagedRows
from journal.model.version import HybridClock, Version
from journal.records.catalog import record_commit, record_past, record_states
from journal.records.catalog_format import StateRow
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of
from journal.sql.unique_keys import further_keys
from journal.stores.postgres import flat, flat_conflicts, layout, public
from journal.stores.postgres.adopt import classic_writers, readers, stale_writes
from journal.stores.postgres.adopt import suppression_triggers as fencing
from journal.stores.postgres.adopt.adopt_ddl import TAKEN, bare, take_over
from journal.stores.postgres.adopt.replaced_view import check_free
from journal.stores.postgres.catalog import record_inline
from journal.stores.postgres.estimates import refresh_estimates
from journal.stores.postgres.jobs import replaced, was_erased
from journal.stores.postgres.native_indexes import follow_indexes
from journal.stores.postgres.rows import show_rows, staged_table
from journal.stores.postgres.store import PostgresSession
from journal.transactions import conflicts, references
from journal.transactions.commit_plan import CommitPlan, plan_above, with_definition
from journal.transactions.conflicts import check_catalog
from journal.transactions.head_tables import HeadTables, mine_of
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, inline_row, transaction_row

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
    above = check_conflicts(session, transaction, committed)
    _check_references(session, transaction, committed)
    writes = transaction.writes
    for table in written_flat:
        classic_writers.pass_buffered(session, table, clock, above[table.id], mine_of(table))
    # Others may have read and written since the statements ran: now nobody can any more.
    floor = writes[0].version if written_flat else clock.floor
    plan = plan_above(committed, writes, clock, floor)
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
            check_free(session, committed.catalog, catalog)
            public.drop_changed(session, committed.catalog, catalog)
        _refresh(session, committed, catalog, tables)
    if changed_catalog:
        public.refresh_views(session, catalog)
        public.grant_again(session, held, committed.catalog, catalog)
    following = _record(session, row, plan, committed, tables, (transaction, author))
    return SectionResult(following, plan.next_state(committed, tables), plan.version)


def _record(
    session: PostgresSession,
    row: StateRow,
    plan: CommitPlan,
    committed: JournalState,
    tables: Mapping[int, TableState],
    by: tuple[Transaction, Author],
) -> StateRow:
    """Record a commit; in one trip where all it has done is to append rows to journals."""
    transaction, _ = by
    before = committed.tables
    if (
        plan.catalog is not committed.catalog
        or transaction.lineage
        or transaction.alongside is not None
        or any(i not in before or before[i].manifest is not t.manifest for i, t in tables.items())
    ):
        return record_commit(session, row, plan, committed, tables, by)
    following = replace(row, generation=row.generation + 1, version=plan.version)
    added = {i: t.head_counts - before[i].head_counts for i, t in tables.items()}
    found = transaction_row(plan.writes, *by, plan.catalog)
    record_inline(session, added, found, following)
    return following


def _taken_now(session: PostgresSession, plan: CommitPlan, committed: JournalState) -> list[int]:
    """Plain tables that become bases now, made ready for it."""
    tables = (t for t in plan.redefined if t.id not in committed.tables)
    return [bare(session, t) for t in tables if TAKEN in dict(t.properties)]


def check_conflicts(
    session: PostgresSession, transaction: Transaction, committed: JournalState
) -> dict[int, Version | None]:
    """Raise if keys this transaction wrote were written by a commit after its snapshot.

    Of each flat journal the highest version at or above those under which its rows were written.
    """
    HEADS.check(session, committed, transaction)
    above: dict[int, Version | None] = {}
    written = sorted(transaction.buffered_tables())
    for table in (found for i in written if (found := committed.catalog.by_id(i)) is not None):
        if is_flat(table):
            mine = mine_of(table)
            show_rows(session, table, mine, transaction.buffered(table.id))
            is_late, above[table.id] = flat_conflicts.conflict_and_above(session, table, mine)
            if is_late:
                raise conflicts.conflict(table)
            if transaction.is_pinned(table.id, committed):
                for key in further_keys(table):
                    session.execute(Query(flat_conflicts.sharing_values(table, key, mine), ()), {})
                    if session.fetch_many(1):
                        raise conflicts.conflict(table)
    return above


def _check_references(
    session: PostgresSession, transaction: Transaction, committed: JournalState
) -> None:
    def show(table: Table, name: str) -> None:
        show_rows(session, table, name, transaction.buffered(table.id))

    references.check_references(session, transaction, committed, show)


def _append(
    session: PostgresSession, committed: JournalState, plan: CommitPlan
) -> dict[int, TableState]:
    defined = {t.id: t for t in committed.catalog.tables()} if plan.redefined else {}

    def define(old: TableState | None, table: Table) -> TableState:
        before = defined.get(table.id, table)
        defined[table.id] = table
        return _with_definition(session, old, table, plan.version, before)

    def add(state: TableState, table: Table, sets: Sequence[RowSet]) -> TableState:
        if is_flat(table):
            return _with_flat_rows(session, table, state, sets, plan)
        following = HEADS.with_rows(session, table, state, sets, plan)
        layout.drop_tables(session, _staged_tables(sets))
        return following

    return plan.states(committed, define, add)


def _add_rows(session: PostgresSession, table: Table, head: Head, rows: exp.Query) -> None:
    target = layout.head_table(table.id, head)
    session.run(layout.insert_into(table, target, rows))
    refresh_estimates(session, table, target, session.changed())


HEADS = HeadTables(show_rows, layout.create_head, _add_rows, was_erased)


def _with_definition(
    session: PostgresSession,
    old: TableState | None,
    table: Table,
    version: Version,
    before: Table,
) -> TableState:
    if is_flat(table):
        return _with_flat(session, old, table, version)
    fitting = with_definition(old, table, version)
    known = HEADS.with_head(session, table, fitting)
    if known is fitting:
        heads = [layout.head_table(table.id, h) for h in known.manifest.heads]
        follow_indexes(session, before, table, known.manifest, heads)
        return known
    if old is None and TAKEN in dict(table.properties):
        segments = (take_over(session, table, version),)
        known = replace(known, manifest=replace(known.manifest, segments=segments))
    return known


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
    segments = (*manifest.segments, *flat.moved_segments(old.manifest))
    following = replace(old.manifest, generation=old.manifest.generation + 1, segments=segments)
    return replace(known, manifest=following)


def _with_flat_rows(
    session: PostgresSession,
    table: Table,
    state: TableState,
    sets: Sequence[RowSet],
    plan: CommitPlan,
) -> TableState:
    incoming = mine_of(table)
    if table in plan.redefined:
        # They were looked at only as they were defined before.
        incoming = f"incoming_{table.id}"
        show_rows(session, table, incoming, sets)
    above = flat.append_buffered(session, table, incoming, plan.overtaken)
    assert above is None, "the versions were taken above it, and nobody else can write"
    return replace(state, last_version=plan.version)


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
        if now is not None and (
            old is None or _view_inputs(old) != _view_inputs(state) or not same_definition
        ):
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


def _view_inputs(state: TableState) -> tuple[frozenset[Tier], int]:
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
    after = committed.with_tables(states, fence)
    session.read_epochs(after.epoch_of)
    for table_id, state in states.items():
        for shape in state.layouts:
            layout.refresh_tiers(session, shape, state.manifest)
        replaced(session, table_id, state.manifest.epoch)
        table = committed.catalog.by_id(table_id)
        if table is not None:
            public.refresh_table(session, table, state)
    for table in committed.catalog.tables():
        if is_flat(table) and (fence is not None or table.id in states):
            fencing.fence_journal(session, table, after.fence)
        if is_flat(table) and table.id in states:
            stale_writes.put_trigger(session, table)
    following = record_states(session, row, states, is_fenced=fence is not None)
    return SectionResult(following, after)


def write_past(
    session: PostgresSession,
    committed: JournalState,
    row: StateRow,
    version: Version,
    changes: Sequence[tuple[Version, CatalogChange]],
    states: Mapping[int, TableState],
) -> None:
    """Record definitions of any version up to that of a commit, and journals as they are then.

    The last of ``changes`` is of ``version``. The caller commits, and reads all of it anew.
    """
    catalog = committed.catalog
    for _, change in changes:
        catalog = apply(catalog, change)
    session.read_epochs(committed.with_tables(states).epoch_of)
    held = public.granted(session, committed.catalog, catalog)
    if changes:
        public.drop_changed(session, committed.catalog, catalog)
    for table_id, state in states.items():
        before = committed.tables.get(table_id)
        if before is None or before.manifest.epoch != state.manifest.epoch:
            replaced(session, table_id, state.manifest.epoch, erased=True)
        for shape in state.layouts:
            layout.refresh_tiers(session, shape, state.manifest)
        table = catalog.by_id(table_id)
        if table is not None:
            public.refresh_table(session, table, state)
    if changes:
        public.refresh_views(session, catalog)
        public.grant_again(session, held, committed.catalog, catalog)
    record_past(session, row, version, changes, states)


def defined_state(
    session: PostgresSession,
    committed: JournalState,
    old: TableState | None,
    definitions: Sequence[tuple[Version, Table]],
) -> TableState:
    """A journal as definitions make it, one after the other, with a head that takes such rows."""
    fitting = old
    for version, table in definitions:
        fitting = with_definition(fitting, table, version)
    assert fitting is not None, "a journal has a definition"
    table = fitting.layouts[-1]
    known = HEADS.with_head(session, table, fitting)
    before = committed.catalog.by_id(table.id)
    if known is fitting and before is not None:
        heads = [layout.head_table(table.id, h) for h in known.manifest.heads]
        follow_indexes(session, before, table, known.manifest, heads)
    return known


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
    result = after_inline(committed, row, version, appended)
    added = {
        i: counts if committed.tables[i].manifest.heads else RowCounts()
        for i, counts in appended.items()
    }
    tables = {table_id: result.state.tables[table_id] for table_id in appended}
    _refresh(session, committed, committed.catalog, tables)
    found = inline_row(version, digest, message, author, committed.catalog, appended)
    record_inline(session, added, found, result.row)
    return result


def after_inline(
    committed: JournalState, row: StateRow, version: Version, appended: Mapping[int, RowCounts]
) -> SectionResult:
    """What is true once an inline statement has appended rows to these tables."""
    following = StateRow(row.generation + 1, version, row.settled, row.catalog, row.fence)
    tables = {
        table_id: committed.tables[table_id].with_counts(
            _counted(committed, table_id, counts), version
        )
        for table_id, counts in appended.items()
    }
    state = committed.committed(version, committed.catalog, tables)
    return SectionResult(following, state, version)


def _counted(committed: JournalState, table_id: int, counts: RowCounts) -> RowCounts:
    """Rows in the heads of a table; nobody counts those of a flat journal."""
    before = committed.tables[table_id]
    return before.head_counts + counts if before.manifest.heads else before.head_counts


def _staged_tables(sets: Iterable[RowSet]) -> list[exp.Table]:
    return [staged_table(f) for s in sets if isinstance(s, StagedRows) for f in s.files]
