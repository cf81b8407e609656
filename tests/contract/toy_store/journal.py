"""The journals of one SQLite file, open in this process.

statement   BEGIN -> what is committed -> queries -> ROLLBACK
commit      BEGIN IMMEDIATE -> what is committed -> checks -> appends -> COMMIT
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gateway.opening.schemes import OpenedStore
from journal.erasure.guard import load_fence
from journal.model.capabilities import Capabilities
from journal.model.plan import Append, StatementPlan, Step
from journal.model.schema import Table
from journal.model.store_session import Parameters
from journal.model.version import HybridClock, Version
from journal.model.wall_clock import wall_clock_us
from journal.records import catalog as records
from journal.records.catalog_format import StateRow
from journal.records.numbers import DatabaseNumbers
from journal.records.schema import OF_DATABASE
from journal.records.seen_states import SeenStates
from journal.records.statements import columns_of
from journal.sql.held_rows import memory_rows
from journal.sql.row_layout import fields_of
from journal.transactions import conflicts
from journal.transactions.commit_plan import plan_above
from journal.transactions.group_commit import UNWATCHED, CancelToken, no_turn
from journal.transactions.named_locks import NamedLocks
from journal.transactions.scan_access import as_relation, none_known, whole_tiers
from journal.transactions.state import JournalState, TableState
from journal.transactions.statement_run import StatementRun, run_step
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author
from journal.transactions.verification import Found, OnlyVerified, check_segments, verify
from tests.contract.toy_store import layout
from tests.contract.toy_store.session import SqliteSession


def opened(url: str) -> OpenedStore:
    """The journals of ``palimpsest+sqlite:////path/to/file``, which is made where there is none."""
    journal = SqliteJournal(Path(url.partition("://")[2]))
    return OpenedStore(journal, OnlyVerified(partial(verify, journal, _check_pieces)))


class SqliteStatement(AbstractContextManager["SqliteStatement", None]):
    """One statement's stay: a connection inside a transaction that only reads."""

    access, comparable_rows, varied_columns = whole_tiers, as_relation, none_known

    def __init__(self, journal: SqliteJournal, transaction: Transaction) -> None:
        self._counters, self._shown = journal.counters, set[int]()
        self.transaction, self.session = transaction, SqliteSession(journal.path)
        self.session.begin()
        _, self.committed = journal.seen.read_committed(self.session)
        transaction.begin_at(self.committed)
        self.session.find = partial(layout.tier_rows, self.committed, transaction)

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        for table, rows in self.transaction.newly_read(tables, self._shown):
            if rows:
                layout.show_rows(self.session, table, f"tx{table.id}_buffer", rows)

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        self.show(plan.tables)
        return {}

    def run(self, step: Step, run: StatementRun) -> None:
        if not isinstance(step, Append):
            run_step(self.session, self._counters, step, run)
            return
        table = run.table(step.table_id, self.transaction.catalog)
        columns = layout.journal_columns(table, fields_of(table))
        rows = self.session.as_stored(step.query, run.parameters, columns)
        run.take(step, memory_rows(rows, table) if rows.num_rows else None)

    def close(self) -> None:
        self.session.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class SqliteJournal:
    """See the module's head."""

    capabilities = Capabilities(raises_in_sql=False, foreign_keys=False, expands_lists=False)
    in_memory, inline, at_once, commit_turn = None, None, None, staticmethod(no_turn)

    def __init__(self, path: Path) -> None:
        self.path, self.place, self.held_names = path, str(path), None
        self.seen, self.exclusive = SeenStates(load_fence, self.place), NamedLocks().trying
        with self.writing() as session:
            if not columns_of(session):
                records.create_catalog(session, OF_DATABASE)
            row, state = self.seen.read_committed(session)
        self.clock = HybridClock(wall_clock_us, max(state.version, row.settled))
        self.counters = DatabaseNumbers.of(self.writing)

    @property
    def state(self) -> JournalState:
        return self.seen.newest

    def keep(self, row: StateRow, state: JournalState) -> None:
        """Remember what this process has committed."""
        self.clock.settle(state.version)
        self.seen.keep(row, state)

    def begin(
        self, *, read_only: bool = False, at_once: bool = False, message: str | None = None
    ) -> Transaction:
        with self.reading_session() as session:
            _, state = self.seen.read_committed(session)
        return Transaction(state, read_only, message, is_fresh=not at_once)

    def statement(self, transaction: Transaction) -> SqliteStatement:
        return SqliteStatement(self, transaction)

    @contextmanager
    def section(self) -> Iterator[tuple[SqliteSession, StateRow, JournalState]]:
        """The commit section, committed at its end: nobody else commits before that."""
        with self.writing() as session:
            row, committed = self.seen.read_committed(session)
            self.clock.settle(max(committed.version, row.settled))
            yield session, row, committed

    def commit(
        self, transaction: Transaction, author: Author, watcher: CancelToken = UNWATCHED
    ) -> Version | None:
        with transaction.committing():
            if not transaction.writes:
                return None
            with self.section() as (session, row, committed), watcher.watching(session):
                session.find = partial(layout.tier_rows, committed, transaction)
                conflicts.check_catalog(transaction, committed)
                layout.HEADS.check(session, committed, transaction)
                plan = plan_above(committed, transaction.writes, self.clock)
                tables = layout.HEADS.states(session, committed, plan)
                by = transaction, author
                following = records.record_commit(session, row, plan, committed, tables, by)
            self.keep(following, plan.next_state(committed, tables))
            return plan.version

    def advance(self, point: Version, seen: JournalState) -> bool:
        with self.section() as (session, _, committed):
            records.settle(session, settled := min(point, self.clock.now()))
        self.clock.settle(settled)
        return committed.version == seen.version

    def reading_session(self) -> AbstractContextManager[SqliteSession]:
        return closing(SqliteSession(self.path))

    @contextmanager
    def exclusive_session(self) -> Iterator[SqliteSession]:
        with self.reading_session() as session:
            session.begin("IMMEDIATE")
            yield session

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """An exclusive session, committed at the end."""
        with self.exclusive_session() as session:
            yield session
            session.commit()

    def read_secret(self, key: str | None = None) -> str:
        with self.reading_session() as session:
            return records.read_secret(session, key)

    make_secret = read_secret

    def close(self) -> None:
        """Connections end with their statements."""


def _check_pieces(
    statement: SqliteStatement, table: Table, state: TableState, *report: Any
) -> Found:
    given = (state.manifest.segments, lambda s: layout.rows_of(s.id), layout.held)
    return check_segments(statement.session, table, *given, *report)
