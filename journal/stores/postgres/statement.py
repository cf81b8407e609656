"""Runs one statement in a transaction of the database.

What it writes goes into its client's transaction: rows in memory, or a table that nothing lists
yet. It changes no journal itself, unless it runs inside the commit section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlglot import exp

from journal.erasure import guard
from journal.erasure.seam import ErasureJournal
from journal.model.plan import P_VERSION, Analyze, Append, Query, StatementPlan, Step
from journal.model.schema import Table
from journal.model.store_session import Parameters, RowSet
from journal.model.version import Version
from journal.records.catalog_format import StateRow
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of
from journal.stores.postgres import section
from journal.stores.postgres.adopt import classic_writers
from journal.stores.postgres.appending import append_to_head, appended_to
from journal.stores.postgres.estimates import analyze
from journal.stores.postgres.layout import drop_views, refresh_tiers
from journal.stores.postgres.own_rows import keys_read, own_name, values_of_keys
from journal.stores.postgres.pool import PostgresStore
from journal.stores.postgres.rows import (
    columns_of,
    held_query,
    latest_ended_early,
    memory_rows,
    show_rows,
    stage_rows,
)
from journal.stores.postgres.store import PostgresSession
from journal.transactions import conflicts
from journal.transactions.plain_rows import Key
from journal.transactions.scan_access import as_relation, none_known, whole_tiers
from journal.transactions.state import JournalState
from journal.transactions.statement_run import StatementRun, run_step
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author

_ROUNDS_MAX = 3
"""The journal is locked, so the second fits, but for statements that choose rows by chance."""


class StatementJournal(ErasureJournal, Protocol):
    """What a statement needs of the journals of a database."""

    store: PostgresStore
    staged: set[str]

    def new_staged_name(self) -> str:
        """A name for a table of staged rows."""

    def conclude(self, session: PostgresSession, written: section.SectionResult) -> None:
        """Commit what a section has written."""


class DatabaseStatement(AbstractContextManager["DatabaseStatement", None]):
    """One statement's stay; ``row`` is the state's, given to one inside the commit section."""

    access, comparable_rows, varied_columns = whole_tiers, as_relation, none_known

    def __init__(
        self,
        journal: StatementJournal,
        session: PostgresSession,
        committed: JournalState,
        transaction: Transaction,
        row: StateRow | None = None,
    ) -> None:
        self._journal = journal
        self._open = True
        self._shown: set[int] = set()
        self._shown_by_key: set[int] = set()
        self._staged: list[str] = []
        self._views: list[exp.Table] = []
        self._row = row
        self._version: Version | None = None
        session.read_epochs(committed.epoch_of)
        self.session = session
        self.committed = committed
        self.transaction = transaction

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        """Let queries see the transaction's own rows of these tables, and what it is shown."""
        for table_id in self._shown_by_key.intersection(tables):
            self._shown_by_key.remove(table_id)
            self._shown.remove(table_id)
            self.session.hide(own_name(table_id))
        self._show(tables, {})

    def _show(self, tables: Iterable[int], keyed: Mapping[int, Sequence[Key]]) -> None:
        """The same; of tables in ``keyed`` just the own rows of these keys, if that saves any."""
        for shown, manifest in self.transaction.shown:
            if shown.id not in self._shown:
                self._shown.add(shown.id)
                self._views += refresh_tiers(self.session, shown, manifest)
        for table, rows in self.transaction.newly_read(tables, self._shown):
            self._show_layout(table)
            name, keys = own_name(table.id), keyed.get(table.id)
            values = None if keys is None else values_of_keys(table, rows, keys)
            if values is not None:
                self._shown_by_key.add(table.id)
                columns = columns_of(self.session, table, fields_of(table), values)
                self.session.show_values(name, columns)
            elif rows:
                show_rows(self.session, table, name, rows)

    def _keys_read(
        self, plan: StatementPlan, parameters: Parameters
    ) -> Mapping[int, Sequence[Key]]:
        """The keys by which alone a plan reads own rows, by table."""
        found = {}
        for table_id in plan.tables & self.transaction.buffered_tables():
            table = self.transaction.catalog.by_id(table_id)
            keys = None if table is None else keys_read(table, plan, parameters)
            if keys is not None:
                found[table_id] = keys
        return found

    def _show_layout(self, table: Table) -> None:
        """Make the tiers readable under a layout that this transaction has made itself."""
        state = self.committed.tables.get(table.id)
        if state is None or any(t.layout == table.layout for t in state.layouts):
            return
        known = {name for before in state.layouts for name, _ in fields_of(before)}
        coming = {name for name, _ in fields_of(table)} - known
        refresh_tiers(self.session, table, state.manifest, coming)

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        """Show the tables; the server looks after its own pages.

        Inside the commit section classic tools are kept out of adopted journals until the commit,
        so that what the statement reads stays the latest.
        """
        self._show(plan.tables, self._keys_read(plan, parameters))
        if self._row is not None:
            written = map(self.committed.catalog.get, plan.writes)
            classic_writers.keep_out(self.session, written)
        return {}

    def run(self, step: Step, run: StatementRun) -> None:
        """Run one step; ``run`` takes what comes of it."""
        if isinstance(step, Analyze):
            self._analyze(step.tables)
            return
        if not isinstance(step, Append):
            run_step(self.session, self._journal.counters, step, run)
            return
        table = run.table(step.table_id, self.transaction.catalog)
        if self._row is not None:
            run.take_appended(step, self._append_inline(table, step.query, run.parameters))
        else:
            run.take(step, self._rows_above(table, step.query, run))

    def _analyze(self, tables: Iterable[int]) -> None:
        """Tell the planner what is committed of tables, each as soon as that is known."""
        for table_id in tables:
            table = self.committed.catalog.by_id(table_id)
            state = self.committed.tables.get(table_id)
            if table is not None and state is not None:
                with self._journal.store.lent() as session:
                    analyze(session, table, state.manifest)
                    session.commit()

    def _rows_above(self, table: Table, query: Query, run: StatementRun) -> RowSet | None:
        """The rows of ``query``, under a version above those that they end.

        A row of a classic tool may lie ahead of the clock: the next statement of the transaction
        would take it for the latest of its key, and not see what this one wrote.
        """
        rows_max, clock = None if run.few else run.rows_max, self._journal.clock
        for _ in range(_ROUNDS_MAX):
            found = self._append(table, query, run.parameters, rows_max)
            ahead = latest_ended_early(self.session, table, found) if is_flat(table) else None
            # What lies too far ahead is refused by the commit, which says where it is.
            if ahead is None or not clock.pass_by(ahead):
                return found
            self.transaction.forget(getattr(found, "files", ()))
            if run.rows or run.changes:
                break
            run.version = run.parameters[P_VERSION] = clock.next()
        raise conflicts.conflict(table)

    def _append(
        self, table: Table, query: Query, parameters: Parameters, memory_rows_max: int | None
    ) -> RowSet | None:
        """The rows of ``query`` for the journal of ``table``; None when there are none.

        Without a limit they are known to be few.
        """
        self.session.execute(held_query(table, query, memory_rows_max), parameters)
        rows = memory_rows(self.session, table)
        if memory_rows_max is not None and rows.counts.total > memory_rows_max:
            name = self._journal.new_staged_name()
            self._staged.append(name)
            return stage_rows(self.session, table, query, parameters, name)
        return rows if rows.counts.total else None

    def _append_inline(self, table: Table, query: Query, parameters: Parameters) -> int:
        """Append a query's rows to the table's head; how many they were.

        If others have given one of the keys a version above the statement's, it gets another.
        Raises VERSION_AHEAD for one that lies too far ahead; SERIALIZATION when the statement
        finds other keys each time.
        """
        clock, given = self._journal.clock, dict(parameters)
        for _ in range(_ROUNDS_MAX):
            found, above = append_to_head(self.session, self.committed, table, query, given)
            if above is None:
                return found
            classic_writers.pass_by(self.session, table, clock, above, query, given)
            given[P_VERSION] = self._version = clock.next()
        raise conflicts.conflict(table)

    def commit(self, run: StatementRun, digest: str, author: Author) -> None:
        """Commit what was appended inside the commit section."""
        assert self._row is not None
        version, appended = self._version or run.version, run.appended
        guard.check_inline(
            *(self._journal, self.session, self.committed, appended, version),
            lambda table: appended_to(self.committed, table),
        )
        message = self.transaction.message
        written = section.write_inline(
            self.session, self.committed, self._row, version, appended, digest, message, author
        )
        self._journal.conclude(self.session, written)

    def close(self) -> None:
        """End the stay; of what was staged only rows that wait for their commit survive."""
        if not self._open or self._row is not None:
            return
        self._open = False
        try:
            if any(name in self._journal.staged for name in self._staged):
                self.session.text("SET LOCAL synchronous_commit = off")
                drop_views(self.session, self._views)
                self.session.commit_unasked()
        finally:
            self.session.rollback()
            self._journal.store.release(self.session)

    def __exit__(self, *_: object) -> None:
        self.close()
