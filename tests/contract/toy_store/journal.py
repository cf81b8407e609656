"""The journals of one SQLite file, open in this process.

statement   BEGIN -> what is committed -> queries -> ROLLBACK
commit      BEGIN IMMEDIATE -> what is committed -> checks -> appends -> COMMIT
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.opening.schemes import OpenedStore
from journal.erasure.guard import load_fence
from journal.model.capabilities import Capabilities
from journal.model.plan import Append, StatementPlan, Step
from journal.model.schema import Table
from journal.model.segment import Fields, SegmentFile
from journal.model.store_session import MemoryRows, Parameters, Progress, count_kinds
from journal.model.verification import Verification
from journal.model.version import HybridClock, Version
from journal.model.wall_clock import wall_clock_us
from journal.records import catalog as records
from journal.records import catalog_format, numbers
from journal.records.catalog_format import JournalRow, StateRow
from journal.records.schema import OF_DATABASE
from journal.records.seen import SeenStates
from journal.records.statements import columns_of, execute
from journal.sql.relations import Reader, column, version_value
from journal.sql.row_layout import fields_of
from journal.sql.sql import relation
from journal.transactions import conflicts
from journal.transactions.commit_plan import commit_plan, newer_versions, with_definition
from journal.transactions.group_commit import UNWATCHED, CancelToken
from journal.transactions.protocol import WHOLE_TIERS, ScanAccess
from journal.transactions.restamp import restamp_rows
from journal.transactions.state import JournalState, TableState
from journal.transactions.statement_run import StatementRun, run_step
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, transaction_row
from journal.transactions.verification import Found, OnlyVerified, miscounted, verify
from tests.contract.toy_store import layout
from tests.contract.toy_store.session import SqliteSession, arrow_type


def opened(url: str) -> OpenedStore:
    """The journals of ``palimpsest+sqlite:////path/to/file``, which is made where there is none."""
    journal = SqliteJournal(Path(url.partition("://")[2]))
    return OpenedStore(journal, OnlyVerified(partial(verify, journal, _check_pieces)))


class SqliteStatement(AbstractContextManager["SqliteStatement", None]):
    """One statement's stay: a connection inside a transaction that only reads."""

    def __init__(self, journal: SqliteJournal, transaction: Transaction) -> None:
        self._journal, self._shown = journal, set[int]()
        self.session = SqliteSession(journal.path)
        self.session.begin()
        _, self.committed = journal.look(self.session)
        self.session.find = partial(layout.tier_rows, self.committed, transaction)
        self.transaction = transaction

    def access(self, table_id: int) -> ScanAccess:
        return WHOLE_TIERS

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        for table_id in set(tables) - self._shown:
            table = self.transaction.catalog.by_id(table_id)
            rows = self.transaction.buffered(table_id)
            if table is not None and rows:
                layout.show_rows(self.session, table, f"tx{table_id}_buffer", rows)
            self._shown.add(table_id)

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        self.show(plan.tables)
        return {}

    def near(self, fields: Fields, rows: exp.Query) -> exp.Expr:
        return relation(rows)

    def run(self, step: Step, run: StatementRun) -> None:
        if not isinstance(step, Append):
            run_step(self.session, self._journal.counters, step, run)
            return
        table = run.table(step.table_id, self.transaction.catalog)
        listed = layout.journal_columns(table, fields_of(table))
        rows = self.session.run(step.query.ast, run.parameters)
        columns = list(zip(*rows, strict=True)) or [()] * len(listed)
        arrays = [pa.array(v, arrow_type(k)) for v, (_, k) in zip(columns, listed, strict=True)]
        found = pa.Table.from_arrays(arrays, names=[name for name, _ in listed])
        made = MemoryRows(found, count_kinds(found, table), fields_of(table))
        run.take(step, made if rows else None)

    def close(self) -> None:
        self.session.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class SqliteJournal:
    """See the module's head."""

    capabilities = Capabilities(raises_in_sql=False, foreign_keys=False, expands_lists=False)
    in_memory = inline = None

    def __init__(self, path: Path) -> None:
        self.path, self._seen = path, SeenStates(load_fence)
        self._named: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        with self.exclusive_session() as session:
            if not columns_of(session):
                catalog_format.make_tables(session, OF_DATABASE)
                catalog_format.put_format(session)
                records.put_first_state(session)
                numbers.reserve(session, 0, "table_ids", 0, 1)
            row, state = self.look(session)
            session.commit()
        self.clock = HybridClock(wall_clock_us, max(state.version, row.settled))
        take, skip = (partial(self._counted, f) for f in (numbers.reserve, numbers.skip_past))
        self.counters = numbers.DatabaseNumbers(take, skip)

    @property
    def state(self) -> JournalState:
        return self._seen.newest

    @property
    def place(self) -> str:
        return str(self.path)

    def look(self, session: SqliteSession) -> tuple[StateRow, JournalState]:
        """What is committed, as a session's transaction sees it."""
        row = records.state_row(execute(session, records.STATE_NOW), self.place)
        return row, self._seen.at(session, row)

    def keep(self, row: StateRow, state: JournalState) -> None:
        """Remember what this process has committed."""
        self.clock.settle(state.version)
        self._seen.keep(row, state)

    def _counted(self, count: Callable[..., Any], *given: Any) -> Any:
        with self.exclusive_session() as session:
            found = count(session, *given)
            session.commit()
            return found

    def begin(
        self, *, read_only: bool = False, explicit: bool = False, message: str | None = None
    ) -> Transaction:
        with self.reading_session() as session:
            return Transaction(self.look(session)[1], read_only, explicit, message)

    def statement(self, transaction: Transaction) -> SqliteStatement:
        return SqliteStatement(self, transaction)

    def rollback(self, transaction: Transaction) -> None:
        transaction.discard()

    @contextmanager
    def section(self) -> Iterator[tuple[SqliteSession, StateRow, JournalState]]:
        """The commit section: nobody else commits before it ends."""
        with self.exclusive_session() as session:
            row, committed = self.look(session)
            self.clock.settle(max(committed.version, row.settled))
            yield session, row, committed

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken = UNWATCHED
    ) -> Version | None:
        try:
            transaction.check_open()
            if not transaction.writes:
                return None
            with self.section() as (session, row, committed), watcher.watching(session):
                session.find = partial(layout.tier_rows, committed, transaction)
                following, state = _write(self, session, row, committed, transaction, author)
                session.commit()
            self.keep(following, state)
            return state.version
        finally:
            self.rollback(transaction)

    def new_table_id(self) -> int:
        return int(self._counted(numbers.reserve, 0, "table_ids", 1, 1))

    def forget_files(self, files: Iterable[SegmentFile]) -> None:
        """There are none: rows wait in memory."""

    def advance(self, point: Version, seen: JournalState) -> bool:
        with self.section() as (session, _, committed):
            settled = min(point, self.clock.now())
            records.settle(session, settled)
            session.commit()
        self.clock.settle(settled)
        return committed.version == seen.version

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        is_mine = self._named[name].acquire(blocking=False)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._named[name].release()

    @contextmanager
    def reading_session(self) -> Iterator[SqliteSession]:
        session = SqliteSession(self.path)
        try:
            yield session
        finally:
            session.close()

    @contextmanager
    def exclusive_session(self) -> Iterator[SqliteSession]:
        with self.reading_session() as session:
            session.begin("IMMEDIATE")
            yield session

    def make_secret(self) -> str:
        with self.exclusive_session() as session:
            records.make_secret(session)
            session.commit()
        return self.read_secret()

    def read_secret(self) -> str:
        with self.reading_session() as session:
            return records.read_secret(session)

    def close(self) -> None:
        """Connections end with their statements."""


def _write(
    journal: SqliteJournal,
    session: SqliteSession,
    row: StateRow,
    committed: JournalState,
    transaction: Transaction,
    author: Author,
) -> tuple[StateRow, JournalState]:
    """Check and append a transaction's writes; what will be true once they are committed."""
    conflicts.check_catalog(transaction, committed)
    for table_id in transaction.buffered_tables():
        table = committed.catalog.by_id(table_id)
        if committed.epoch_of(table_id) != transaction.snapshot.epoch_of(table_id):
            # What it changes may be among the rows that a retention has removed.
            raise conflicts.conflict(table or transaction.snapshot.tables[table_id].layouts[-1])
        if table is not None and transaction.is_pinned(table_id, committed):
            _check_conflicts(session, table, committed.tables[table_id], transaction)
    newer = newer_versions(transaction.writes, journal.clock, journal.clock.floor)
    plan = commit_plan(committed, transaction.writes, newer)
    tables: dict[int, TableState] = {}
    for table in plan.redefined:
        old = tables.get(table.id, committed.tables.get(table.id))
        tables[table.id] = with_head(session, with_definition(old, table, plan.version), table)
    for table_id, sets in plan.rows.items():
        table, state = plan.definitions[table_id], tables.get(table_id, committed.tables[table_id])
        state = with_head(session, state, table)
        for rows in sets:
            assert isinstance(rows, MemoryRows)
            stamped = restamp_rows(rows.rows, table, newer) if newer else rows.rows
            name = f"w{uuid.uuid4().hex}"
            layout.show_rows(session, table, name, [replace(rows, rows=stamped)])
            target = layout.head_name(table_id, state.manifest.heads[-1])
            added = exp.select("*").from_(layout.rows_of(name))
            layout.insert(session, table, fields_of(table), target, added)
            counts = state.head_counts + rows.counts
            state = replace(state, head_counts=counts, last_version=plan.version)
        tables[table_id] = state
    is_redefined = plan.catalog is not committed.catalog
    records.add_changes(session, plan.changes)
    written = transaction_row(plan.writes, transaction.message, author, plan.catalog)
    records.add_transactions(session, [written])
    catalog = plan.version if is_redefined else row.catalog
    following = replace(row, version=plan.version, catalog=catalog)
    return put_states(session, following, tables), plan.next_state(committed, tables)


def put_states(session: SqliteSession, row: StateRow, tables: dict[int, TableState]) -> StateRow:
    """Record what is true of some journals from the next generation on."""
    following = replace(row, generation=row.generation + 1)
    for table_id, state in tables.items():
        found = JournalRow(table_id, state.manifest, state.last_version, state.head_counts)
        records.put_journal(session, found, following.generation)
    records.put_state(session, following)
    return following


def with_head(
    session: SqliteSession, state: TableState, table: Table, *, fresh: bool = False
) -> TableState:
    """A journal whose last head takes rows as a table is defined now, or a ``fresh`` one does."""
    heads, fields = state.manifest.heads, fields_of(table)
    if heads and heads[-1].fields == fields and not fresh:
        return state
    manifest = state.manifest.with_head(fields)
    name = layout.head_name(table.id, manifest.heads[-1])
    session.make("TABLE", name, layout.journal_columns(table, fields))
    return replace(state, manifest=manifest)


def _check_conflicts(
    session: SqliteSession, table: Table, state: TableState, transaction: Transaction
) -> None:
    """Raise if others have committed the same keys since the transaction's snapshot."""
    layout.show_rows(session, table, conflicts.MINE, transaction.buffered(table.id))
    end, start = column(table.format.subsequent_column), column(table.format.version_column)
    written = exp.Coalesce(this=end, expressions=[start])
    limit = version_value(table, exp.Literal.number(transaction.snapshot.version))
    rows = exp.select("*").from_(Reader(table, state.tiers).journal().subquery("j"))
    session.show_view(conflicts.THEIRS, rows.where(exp.GT(this=written, expression=limit)))
    if session.run(conflicts.overlap_query(table).ast):
        raise conflicts.conflict(table)
    session.hide(conflicts.MINE, conflicts.THEIRS)


def _check_pieces(
    statement: SqliteStatement,
    table: Table,
    state: TableState,
    report: Verification,
    advance: Progress,
) -> Found:
    for segment in state.manifest.segments:
        report.segments += 1
        report.files += 1
        rows = layout.count_rows(statement.session, table, layout.rows_of(segment.id))
        report.rows += rows.total
        yield from miscounted(segment.id, rows, segment.counts)
