"""Runs one statement on a Hive store, and tracks where its rows are.

Few rows are held in the gateway until COMMIT; many are written to a partition of their own at once,
which no manifest lists until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.rows import show_rows
from journal.model.plan import Append, Guard, Query, Stage, StatementPlan, Step
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts
from journal.model.store_session import (
    MemoryRows,
    Parameters,
    RecordSession,
    RowSet,
    StagedRows,
    count_kinds,
)
from journal.sql.held_rows import memory_rows
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import fields_of, journal_fields
from journal.stores.hive import layout
from journal.stores.hive.missing_tables import append
from journal.stores.hive.row_upload import INLINE_ROWS_MAX, write_held
from journal.stores.hive.segment_check import count_rows
from journal.stores.hive.session import HiveSession
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.scan_access import none_known, whole_tiers
from journal.transactions.state import JournalState
from journal.transactions.statement_run import StatementRun, check_guard, run_step
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

GUARD_ROWS_MAX = 100_000
"""How many rows of a journal are held in the gateway to see whether keys are taken."""


class HiveStatement(AbstractContextManager["HiveStatement", None]):
    """One statement's stay: what it reads of Spark, the catalog and the gateway's own rows."""

    access, varied_columns = whole_tiers, none_known

    def __init__(
        self,
        journal: HiveJournal,
        committed: JournalState,
        transaction: Transaction,
        records: RecordSession | None = None,
    ) -> None:
        self._journal = journal
        self._shown: set[int] = set()
        self._tables: list[str] = []
        self._open = True
        self.committed = committed
        self.transaction = transaction
        self.names = journal.names
        self._local = journal.local.acquire()
        self.session = HiveSession(
            journal.store,
            self._local,
            SeenTiers(journal.names, committed, transaction),
            journal.held,
            journal.held_rows,
            journal.catalog if records is None else records,
            journal.presence,
        )
        self.session.begin()

    def show(self, tables: Iterable[int], scans: Iterable[int] = ()) -> None:
        """Let queries see the transaction's own rows of these tables."""
        for table, written in self.transaction.newly_read(tables, self._shown):
            if written:
                self.show_rows(table, f"tx{table.id}_buffer", written)

    def show_rows(self, table: Table, name: str, sets: Sequence[RowSet]) -> None:
        """Let queries read row sets of ``table`` as relation ``name``."""
        memory: list[RowSet] = [r for r in sets if isinstance(r, MemoryRows)]
        staged = [(f.path, r.fields) for r in sets if isinstance(r, StagedRows) for f in r.files]
        here = name if not staged else f"{name}_held"
        if memory:
            show_rows(self.session.local, table, here, memory)
            self.session.note_local(here)
        if staged:
            rows = layout.staged_rows(self._journal.names, table, staged)
            if memory:
                names = table.journal_columns
                held = exp.select(*[column(n) for n in names]).from_(exp.to_table(here))
                rows = union_all([rows, held])
            self.session.put_remote(name, rows)

    def prepare(self, plan: StatementPlan, parameters: Parameters) -> dict[str, Any]:
        """Show the tables; the server looks after its own files."""
        self.show(plan.tables)
        return {}

    def run(self, step: Step, run: StatementRun) -> None:
        """Run one step; ``run`` takes what comes of it."""
        match step:
            case Stage():
                self._stage(step, run.parameters, run.rows_max)
            case Guard(query):
                few = self.session.local_query(query, GUARD_ROWS_MAX)
                check_guard(self.session, step, few or query, run.parameters)
            case Append():
                table = run.table(step.table_id, self.transaction.catalog)
                rows_max = INLINE_ROWS_MAX if run.few else run.rows_max
                run.take(step, self._append(table, step.query, run.parameters, rows_max))
            case _:
                run_step(self.session, self._journal.counters, step, run)

    def _stage(self, step: Stage, parameters: Parameters, rows_max: int) -> None:
        """Keep a step's rows for the later ones: here if they are few, else in Spark."""
        session, query = self.session, step.query
        if step.small or session.local_query(query) is not None:
            session.stage(step.name, query, parameters)
            return
        rows = session.arrow(_at_most(query, rows_max), parameters)
        if rows.num_rows <= min(rows_max, INLINE_ROWS_MAX):
            session.show_arrow(step.name, rows)
            return
        name = self._journal.new_staging_name()
        self._tables.append(name)
        names = self._journal.names
        create = layout.create_staging(names, name, session.in_spark(query.ast))
        self._journal.ensure_database(session.connection)
        session.connection.execute(create, parameters)
        session.put_remote(step.name, exp.select("*").from_(names.table(name)))

    def comparable_rows(self, fields: Fields, rows: exp.Query) -> exp.Expr:
        """The list is in the catalog, so the rows come to it."""
        return self.session.comparable_rows(fields, rows)

    def _append(
        self, table: Table, query: Query, parameters: Parameters, rows_max: int
    ) -> RowSet | None:
        """The rows of ``query`` for the journal of ``table``; None when there are none."""
        here = self.session.local_query(query)
        if here is None:
            return self._append_remote(table, query, parameters, rows_max)
        rows = self._local_rows(table, here, parameters)
        if rows.num_rows == 0:
            return None
        counts = count_kinds(rows, table)
        if rows.num_rows <= rows_max:
            return MemoryRows(rows, counts, fields_of(table))
        return self._upload(table, rows, counts)

    def _local_rows(self, table: Table, query: Query, parameters: Parameters) -> pa.Table:
        found = query.once(
            "in its types",
            lambda: Query(_in_its_types(table, query.ast.copy()), query.parameters),
        )
        return self.session.local.arrow(found, parameters)

    def _append_remote(
        self, table: Table, query: Query, parameters: Parameters, rows_max: int
    ) -> RowSet | None:
        session, journal = self.session, self._journal
        rows = session.arrow(_at_most(query, rows_max), parameters)
        if rows.num_rows == 0:
            return None
        if rows.num_rows <= rows_max:
            held = session.typed(rows, journal_fields(table, fields_of(table)))
            return memory_rows(held, table)
        with journal.new_segment(table, session.connection) as path:
            source = _in_its_types(table, session.in_spark(query.ast))
            insert = layout.insert_rows(journal.names, path, source)
            append(session.connection, journal.names, path, insert, parameters)
        counts = count_rows(self.names, session.connection, table, path)
        return StagedRows((layout.segment_file(path, counts.total),), fields_of(table), counts)

    def _upload(self, table: Table, rows: pa.Table, counts: RowCounts) -> StagedRows:
        """Write many rows of the gateway's to a partition that nobody reads yet."""
        journal, connection = self._journal, self.session.connection
        with journal.new_segment(table, connection) as path:
            write_held(journal, self.session.local, connection, rows, path)
        return StagedRows((layout.segment_file(path, counts.total),), fields_of(table), counts)

    def close(self) -> None:
        """End the stay; of what was staged only rows that wait for their commit survive."""
        if not self._open:
            return
        self._open = False
        try:
            self._journal.drop_tables(self._tables)
        finally:
            self.session.rollback()
            self.session.close()
            self._journal.local.release(self._local)

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_its_types(table: Table, rows: exp.Expr) -> exp.Select:
    """Rows for a journal in exactly the types of its columns; Spark's text may be a UUID here."""
    outputs = [
        exp.alias_(
            exp.Cast(this=column(n, "r"), to=exp.DataType.build(k, dialect="duckdb")), ident(n)
        )
        for n, k in journal_fields(table, fields_of(table))
    ]
    alias = exp.TableAlias(this=exp.to_identifier("r"))
    return exp.select(*outputs).from_(exp.Subquery(this=rows, alias=alias))


def _at_most(query: Query, rows_max: int) -> Query:
    """One row more than may be held, so that it shows when there are too many."""

    def limited() -> Query:
        assert isinstance(query.ast, exp.Query)
        rows = exp.select("*").from_(query.ast.copy().subquery("r")).limit(rows_max + 1)
        return Query(rows, query.parameters)

    return query.once(f"at most {rows_max}", limited)
