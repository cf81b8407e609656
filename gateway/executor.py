"""One statement through the pipeline: sights -> rewrite -> steps -> buffers of its transaction.

The only module that knows rewriter and journal both. It runs a plan's steps in order inside one
stay in the store and records what they wrote; committing is the session's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from gateway.cancellation import Cancellation
from gateway.config import Settings
from gateway.definitions import describer, dropped_tables
from gateway.diagnosis import diagnosed
from gateway.explain import explained
from gateway.plan_cache import CachedPlan, PlanCache, creates, plan_key
from gateway.results import HeldRows, Outcome, Row, StreamedRows
from gateway.seen import sights_of, supply
from gateway.time_points import TimePoints, check_present
from journal import lookup
from journal.ahead import left_to_ask, may_be_many, write_ahead
from journal.appending import append_rows
from journal.commit import Author
from journal.direct import append_direct
from journal.errors import PalimpsestError
from journal.journal import Journal
from journal.plan import (
    BATCH,
    P_SNAPSHOT,
    P_VERSION,
    Append,
    CatalogChange,
    Change,
    Count,
    Fetch,
    Guard,
    Kind,
    Number,
    PutRelation,
    Query,
    SkipNumbers,
    Stage,
    StatementPlan,
)
from journal.schema import Table
from journal.sealer import Sealer
from journal.segment import RowCounts
from journal.statement import Statement
from journal.stores.base import RowSet, StagedRows
from journal.transaction import StatementWrites, Transaction
from rewriter.context import RewriteContext, Sight
from rewriter.parsing import Parsed
from rewriter.rewriter import rewrite_statement
from rewriter.statement import Explain


@dataclass(slots=True)
class _Run:
    """What the steps of one plan have made so far."""

    parameters: dict[str, Any]
    version: int
    count: int = -1
    direct: bool = False
    appended: dict[int, RowCounts] = field(default_factory=dict)
    rows: list[tuple[int, RowSet]] = field(default_factory=list)
    ahead: dict[str, StagedRows] = field(default_factory=dict)
    changes: list[CatalogChange] = field(default_factory=list)
    returned: Outcome | None = None


class Executor:
    """Runs parsed statements for the sessions of one warehouse."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._cache = PlanCache()
        self.sealer = Sealer(journal)

    @property
    def cache(self) -> PlanCache:
        """Plans and parsed texts of this warehouse."""
        return self._cache

    def close(self) -> None:
        """Stop what runs in the background."""
        self.sealer.close()

    def run(
        self,
        transaction: Transaction,
        parsed: Parsed,
        parameters: Mapping[str, Any],
        settings: Settings,
        dialect: str,
        cancellation: Cancellation,
        batch: pa.Table | None = None,
    ) -> Outcome:
        """Run one statement in a transaction; a query's rows are streamed."""
        transaction.check_open()
        times = TimePoints(self._journal, parameters)
        statement = self._journal.statement(transaction)
        try:
            plan = self._plan(
                statement, parsed, parameters, settings, dialect, batch is not None, times
            )
            if not times.settle(statement.committed):
                statement.close()
                statement = self._journal.statement(transaction)
                plan = self._plan(
                    statement, parsed, parameters, settings, dialect, batch is not None, times
                )
            if isinstance(parsed.statement, Explain):
                bound = self._bound(statement, plan, parameters, 0)
                bound |= times.bind(statement, plan)
                supply(statement, plan, settings, times)
                return self.held("EXPLAIN", explained(statement, plan, bound))
            if plan.kind is not Kind.READ:
                check_present(settings, plan)
                transaction.check_writable(plan.tag)
            statement.check_segments(plan.tables)
            statement.show_buffers(plan.tables)
            supply(statement, plan, settings, times)
            if batch is not None:
                statement.session.show_arrow(BATCH, batch)
            with cancellation.watching(statement.session):
                bound = {**parameters, **times.bind(statement, plan)}
                outcome = self._steps(statement, plan, parsed, bound, settings)
        except PalimpsestError as error:
            statement.close()
            raise diagnosed(error, parsed, dialect) from error
        except BaseException:
            statement.close()
            raise
        if not isinstance(outcome.rows, StreamedRows):
            statement.close()
        return outcome

    def plan(
        self, transaction: Transaction, parsed: Parsed, settings: Settings, dialect: str
    ) -> StatementPlan:
        """The plan a statement would have now; nothing runs."""
        statement = self._journal.statement(transaction)
        try:
            times = TimePoints(self._journal, {})
            return self._plan(statement, parsed, {}, settings, dialect, False, times)
        finally:
            statement.close()

    def run_direct(
        self,
        parsed: Parsed,
        parameters: Mapping[str, Any],
        settings: Settings,
        dialect: str,
        cancellation: Cancellation,
        author: Author,
    ) -> Outcome | None:
        """Run a write inside the commit section if its plan is known to be bounded, else None.

        For autocommit only: what it wrote is committed when this returns.
        """
        key = plan_key(parsed, settings, dialect, batch=False)
        if settings.as_of is not None or not self._cache.is_bounded(key):
            return None
        with self._journal.direct(settings.commit_message) as statement:
            times = TimePoints(self._journal, parameters)
            plan = self._plan(statement, parsed, parameters, settings, dialect, False, times)
            if not plan.bounded:
                return None
            statement.check_segments(plan.tables)
            version = self._journal.clock.next()
            bound = self._bound(statement, plan, parameters, version)
            run = _Run(bound, version, direct=True)
            with cancellation.watching(statement.session):
                for step in plan.steps:
                    self._step(statement, plan, step, run, settings)
            if run.appended:
                digest = _digest(parsed)
                self._journal.commit_direct(statement, version, run.appended, digest, author)
        return _outcome(plan, run)

    def _plan(
        self,
        statement: Statement,
        parsed: Parsed,
        parameters: Mapping[str, Any],
        settings: Settings,
        dialect: str,
        batch: bool,
        times: TimePoints,
    ) -> StatementPlan:
        transaction = statement.transaction
        seen: dict[int, Sight] = {}
        sights = sights_of(statement, seen)
        key = plan_key(parsed, settings, dialect, batch=batch)
        find = times.of(statement)
        plan = self._cache.plan(key, transaction.catalog, sights, find)
        if plan is not None:
            return plan
        seen.clear()
        context = RewriteContext(
            transaction.catalog,
            sights,
            dialect=dialect,
            default_schema=settings.schema,
            times=find,
            as_of=settings.as_of,
            describe=describer(statement, parameters),
            dropped=dropped_tables(statement),
            new_table_id=self._journal.new_table_id() if creates(parsed) else 0,
            batch=batch,
            limits=settings.limits,
        )
        plan = rewrite_statement(parsed.statement, context)
        if plan.kind is not Kind.DDL:
            catalogs = tuple(find(point).catalog for point in plan.points)
            entry = CachedPlan(plan, transaction.catalog, dict(seen), catalogs)
            self._cache.keep_plan(key, entry)
        return plan

    def _steps(
        self,
        statement: Statement,
        plan: StatementPlan,
        parsed: Parsed,
        parameters: Mapping[str, Any],
        settings: Settings,
    ) -> Outcome:
        transaction = statement.transaction
        version = 0 if plan.kind is Kind.READ else self._journal.clock.next()
        run = _Run(self._bound(statement, plan, parameters, version), version)
        try:
            for step in plan.steps:
                self._step(statement, plan, step, run, settings)
        except BaseException:
            self._forget(run)
            raise
        if plan.kind is Kind.READ:
            assert run.returned is not None
            return run.returned
        if run.rows or run.changes:
            rows, changes = tuple(run.rows), tuple(run.changes)
            transaction.record(StatementWrites(version, rows, changes, _digest(parsed)))
        return _outcome(plan, run)

    def _bound(
        self,
        statement: Statement,
        plan: StatementPlan,
        parameters: Mapping[str, Any],
        version: int,
    ) -> dict[str, Any]:
        """The client's parameters and those that the plan's own queries need."""
        bound = dict(parameters)
        bound[P_VERSION] = version
        bound[P_SNAPSHOT] = statement.transaction.snapshot.version
        for place in plan.lookups:
            state = statement.committed.tables[place.table_id]
            paths = lookup.files(place, state, parameters)
            bound[place.name] = [str(self._journal.root / path) for path in paths]
        return bound

    def _step(
        self, statement: Statement, plan: StatementPlan, step: object, run: _Run, settings: Settings
    ) -> None:
        session = statement.session
        match step:
            case Stage():
                self._stage(statement, step, run, settings)
            case Guard():
                session.execute(left_to_ask(session, step, run.ahead), run.parameters)
                found = session.fetch_many(1)
                if found:
                    text = step.message.format(*found[0])
                    raise PalimpsestError(step.code, text, advice=step.advice)
            case Number():
                run.parameters[step.name] = self._number(statement, step)
            case SkipNumbers(table_id, column, start, increment, query):
                session.execute(query, run.parameters)
                highest = session.fetch_many(1)[0][0]
                if highest is not None:
                    key = (table_id, column)
                    self._journal.counters.skip_past(key, int(highest), start, increment)
            case Append():
                self._append(statement, step, run, settings)
            case Count(query):
                session.execute(query, run.parameters)
                run.count = int(session.fetch_many(1)[0][0])
            case Change(change):
                run.changes.append(change)
            case Fetch(query) if plan.kind is Kind.READ:
                session.execute(query, run.parameters)
                run.returned = Outcome(plan.tag, -1, session.columns(), StreamedRows(statement))
            case Fetch(query):
                run.returned = self._held(statement, query, run.parameters)
            case _:
                raise AssertionError(step)

    def _stage(self, statement: Statement, step: Stage, run: _Run, settings: Settings) -> None:
        rows_max = settings.memory_rows
        if not may_be_many(statement, step, rows_max):
            statement.session.stage(step.name, step.query, run.parameters)
            return
        written = write_ahead(self._journal, statement, step, run.parameters, rows_max)
        if written is not None:
            run.ahead[step.name] = written

    def _append(self, statement: Statement, step: Append, run: _Run, settings: Settings) -> None:
        catalog = statement.transaction.catalog
        table = _changed(run, step.table_id) or catalog.by_id(step.table_id)
        assert table is not None
        total = 0
        if run.direct:
            assert step.per_change is not None
            total = append_direct(
                statement.session, statement.committed, table, step.query, run.parameters
            )
            if total:
                run.appended[table.id] = step.per_change.times(total // step.per_change.total)
        else:
            rows = run.ahead.pop(step.stage, None) or append_rows(
                self._journal,
                statement.session,
                table,
                step.query,
                run.parameters,
                settings.memory_rows,
            )
            if rows is not None:
                run.rows.append((table.id, rows))
                total = rows.counts.total
        if step.per_change is not None:
            run.count = total // step.per_change.total

    def _held(self, statement: Statement, query: Query, parameters: Mapping[str, Any]) -> Outcome:
        session = statement.session
        session.execute(query, parameters)
        columns = session.columns()
        table = session.rest_as_arrow()
        return Outcome("", table.num_rows, columns, self.rows(table))

    def held(self, tag: str, table: pa.Table) -> Outcome:
        """An outcome whose rows the gateway itself has made."""
        with self._journal.reading_session() as session:
            columns = session.arrow_columns(table)
        return Outcome(tag, table.num_rows, columns, self.rows(table))

    def rows(self, table: pa.Table) -> HeldRows:
        """Rows that are in memory, to be fetched."""
        return HeldRows(table, self.rows_of)

    def rows_of(self, table: pa.Table) -> list[Row]:
        """Arrow rows as Python values, converted by the store."""
        with self._journal.reading_session() as session:
            return session.arrow_rows(table)

    def _number(self, statement: Statement, step: Number) -> int:
        count = step.count
        if step.stage is not None:
            count = statement.session.count(step.stage)
        key = (step.table_id, step.column)
        return self._journal.counters.reserve(key, count, step.start, step.increment)

    def _forget(self, run: _Run) -> None:
        for rows in (*(r for _, r in run.rows), *run.ahead.values()):
            files = getattr(rows, "files", ())
            self._journal.forget_files(files)


def _digest(parsed: Parsed) -> str:
    return hashlib.sha256(parsed.text.encode()).hexdigest()[:16]


def _outcome(plan: StatementPlan, run: _Run) -> Outcome:
    if run.returned is not None:
        run.returned.tag = plan.tag
        return run.returned
    return Outcome(plan.tag, run.count, written=run.appended)


def _changed(run: _Run, table_id: int) -> Table | None:
    """The definition that the statement itself has given a table, or None."""
    for change in reversed(run.changes):
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            if change.relation.id == table_id:
                return change.relation
    return None
