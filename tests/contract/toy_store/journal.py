"""The journals of one SQLite file, open in this process.

statement   BEGIN -> what is committed -> queries -> ROLLBACK
commit      BEGIN IMMEDIATE -> what is committed -> checks -> appends -> COMMIT
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from sqlglot import exp

from gateway.opening.schemes import OpenedStore
from journal.erasure.guard import load_fence
from journal.model.capabilities import Capabilities
from journal.model.plan import Append, StatementPlan, Step
from journal.model.schema import Table
from journal.model.segment import Fields, Segment, SegmentFile
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
from journal.transactions import conflicts, verification
from journal.transactions.commit_plan import commit_plan, newer_versions, with_definition
from journal.transactions.group_commit import UNWATCHED, CancelToken
from journal.transactions.protocol import WHOLE_TIERS, ScanAccess
from journal.transactions.restamp import restamp_rows
from journal.transactions.state import JournalState, TableState
from journal.transactions.statement_run import StatementRun, run_step
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, transaction_row
from journal.transactions.verification import Found, miscounted
from tests.contract.toy_store import layout
from tests.contract.toy_store.session import SqliteSession, arrow_type


def opened(url: str) -> OpenedStore:
    """The journals of ``palimpsest+sqlite:////path/to/file``, which is made where there is none."""
    journal = SqliteJournal(Path(url.partition("://")[2]))
    return OpenedStore(journal, SqliteUpkeep(journal))


class SqliteStatement(AbstractContextManager["SqliteStatement", None]):
    """One statement's stay: a connection inside a transaction that only reads."""

    def __init__(self, journal: SqliteJournal, transaction: Transaction) -> None:
        self._journal, self._shown = journal, set[int]()
        self.session = SqliteSession(journal.path)
        self.session.begin()
        _, self.committed = journal.look(self.session)
        journal.begins(transaction, self.committed)
        self.session.find = partial(layout.tier_rows, self.committed, transaction)
        self.transaction = transaction

    def access(self, table_id: int) -> ScanAccess:
        return WHOLE_TIERS

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        for table_id in set(tables) - self._shown:
            table, rows = self.transaction.catalog.by_id(table_id), None
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

    capabilities = Capabilities(
        raises_in_sql=False, inline_commit=False, foreign_keys=False, expands_lists=False
    )
    in_memory = None

    def __init__(self, path: Path) -> None:
        self.path, self._seen = path, SeenStates(load_fence)
        self._lock, self._named, self._fresh = threading.Lock(), set[str](), set[Transaction]()
        with self.exclusive_session() as session:
            if not columns_of(session):
                catalog_format.make_tables(session, OF_DATABASE)
                catalog_format.put_format(session)
                records.put_first_state(session)
                numbers.reserve(session, 0, "table_ids", 0, 1)
            row, state = self.look(session)
            session.commit()
        self.clock = HybridClock(wall_clock_us, max(state.version, row.settled))
        self.counters = numbers.DatabaseNumbers(self._reserve, self._skip_past)

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

    def _reserve(self, table_id: int, name: str, size: int, start: int) -> int:
        with self.exclusive_session() as session:
            first = numbers.reserve(session, table_id, name, size, start)
            session.commit()
            return first

    def _skip_past(self, table_id: int, name: str, value: int, increment: int) -> None:
        with self.exclusive_session() as session:
            numbers.skip_past(session, table_id, name, value, increment)
            session.commit()

    def begin(
        self, *, read_only: bool = False, explicit: bool = False, message: str | None = None
    ) -> Transaction:
        transaction = Transaction(self.state, read_only, explicit, message)
        if explicit:
            with self.reading_session() as session:
                transaction.snapshot = self.look(session)[1]
                transaction.catalog = transaction.snapshot.catalog
        else:
            self._fresh.add(transaction)
        return transaction

    def begins(self, transaction: Transaction, committed: JournalState) -> None:
        """Let a transaction that nobody asked for begin with its first statement."""
        if transaction in self._fresh:
            self._fresh.discard(transaction)
            transaction.snapshot, transaction.catalog = committed, committed.catalog

    def statement(self, transaction: Transaction) -> SqliteStatement:
        return SqliteStatement(self, transaction)

    def rollback(self, transaction: Transaction) -> None:
        self._fresh.discard(transaction)
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

    def inline(self, message: str | None, watcher: CancelToken = UNWATCHED) -> NoReturn:
        raise AssertionError("inline_commit is no capability")

    def new_table_id(self) -> int:
        return self._reserve(0, "table_ids", 1, 1)

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
        with self._lock:
            is_mine = name not in self._named
            self._named.add(name)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._named.discard(name)

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


class SqliteUpkeep:
    """Heads are tables like segments, so nothing is sealed; checks on request."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal

    def request(self, table_id: int, rows_max: int) -> None:
        """A head may grow."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        return ()

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        return verification.verify(self._journal, _check_pieces, progress, only)

    def close(self) -> None:
        """Nothing runs in the background."""


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
