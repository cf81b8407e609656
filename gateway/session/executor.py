"""One statement through the pipeline: sights -> rewrite -> steps -> buffers of its transaction.

The only module that knows rewriter and journal both. It runs a plan's steps in order inside one
stay in the store and records what they wrote; committing is the session's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gateway.config import Settings
from gateway.jobs import known
from gateway.session.bulk_loads import loaded
from gateway.session.cached_rows import CachedRows
from gateway.session.cancellation import Cancellation
from gateway.session.copying import exported
from gateway.session.definitions import describer, dropped_tables
from gateway.session.diagnosis import diagnosed, is_unexplained
from gateway.session.explain import explained
from gateway.session.plan_cache import CachedPlan, PlanCache, creates, plan_key
from gateway.session.request import (
    StatementRequest,
    StatementRun,
    changed_table,
    digest,
    outcome_of,
)
from gateway.session.results import BufferedRows, Row, StatementOutcome, StreamedRows
from gateway.session.scan_info import sights_of, supply
from gateway.session.time_points import TimePoints, check_present, check_told
from journal.files.filters.key_filters import KeyFilters
from journal.model.errors import PalimpsestError
from journal.model.plan import (
    BATCH,
    P_SNAPSHOT,
    P_VERSION,
    AllocateIdentity,
    Append,
    Change,
    Count,
    Export,
    Fetch,
    Guard,
    Query,
    SkipNumbers,
    Stage,
    StatementKind,
    StatementPlan,
)
from journal.transactions import lookup
from journal.transactions.protocol import OpenJournal, OpenStatement, Upkeep
from journal.transactions.temporary import Temporary
from journal.transactions.transaction import StatementWrites, Transaction
from journal.transactions.transaction_rows import Author
from rewriter.context import RewriteContext, TableScanInfo
from rewriter.rewriter import rewrite_statement
from rewriter.statement import Explain


class Executor:
    """Runs parsed statements for the sessions of one warehouse."""

    def __init__(self, journal: OpenJournal, sealer: Upkeep) -> None:
        self._journal = journal
        self._cache = PlanCache()
        rows = journal.in_memory
        self._recall = None if rows is None else CachedRows(self, rows)
        self._filters = KeyFilters()
        self.sealer = sealer

    @property
    def journal(self) -> OpenJournal:
        """The journals it works on."""
        return self._journal

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
        asked: StatementRequest,
        cancellation: Cancellation,
    ) -> StatementOutcome:
        """Run one statement in a transaction; a query's rows are streamed."""
        transaction.check_open()
        times = TimePoints(self._journal, asked.parameters)
        outcome = None
        swift = asked.batch is None and not isinstance(asked.parsed.statement, Explain)
        if swift and self._recall is not None:
            outcome = self._recall.attempt(transaction, asked, times, cancellation)
        if outcome is None and swift and self._journal.can_fail:
            outcome = self._attempt(transaction, replace(asked, swift=True), times, cancellation)
        if outcome is None:
            outcome = self._attempt(transaction, asked, times, cancellation)
        assert outcome is not None
        return outcome

    def _attempt(
        self,
        transaction: Transaction,
        asked: StatementRequest,
        times: TimePoints,
        cancellation: Cancellation,
    ) -> StatementOutcome | None:
        """Run a statement; None if a swift plan failed, so that what is wrong must be found out."""
        statement = self._journal.statement(transaction)
        plan = None
        try:
            statement.session.use_zone(asked.settings.timezone)
            plan = self.plan_for(statement, asked, times)
            if not times.settle(statement.committed):
                statement.close()
                statement = self._journal.statement(transaction)
                statement.session.use_zone(asked.settings.timezone)
                plan = self.plan_for(statement, asked, times)
            if isinstance(asked.parsed.statement, Explain):
                bound = self._bound(statement, plan, asked.parameters, 0)
                bound |= times.bind(statement, plan)
                supply(statement, plan, asked.settings, times)
                analyze = asked.parsed.statement.analyze
                with cancellation.watching(statement.session):
                    shown = explained(statement, plan, bound, analyze=analyze)
                return self.held("EXPLAIN", shown)
            if plan.kind is not StatementKind.READ:
                check_present(asked.settings, plan)
                transaction.check_writable(plan.tag)
            statement.check_segments(plan.tables)
            statement.show_buffers(plan.tables)
            statement.show_positions(plan.scans)
            supply(statement, plan, asked.settings, times)
            if asked.batch is not None:
                statement.session.show_arrow(BATCH, asked.batch)
            with cancellation.watching(statement.session):
                bound = {**asked.parameters, **times.bind(statement, plan)}
                check_told(asked.settings, statement, plan, bound)
                outcome = self.run_steps(statement, plan, asked, bound)
        except PalimpsestError as error:
            statement.close()
            if plan is not None and is_unexplained(error, plan):
                return None
            raise diagnosed(error, asked, transaction.catalog) from error
        except BaseException:
            statement.close()
            raise
        if not isinstance(outcome.rows, StreamedRows):
            statement.close()
        return outcome

    def plan(self, transaction: Transaction, asked: StatementRequest) -> StatementPlan:
        """The plan a statement would have now; nothing runs."""
        statement = self._journal.statement(transaction)
        try:
            return self.plan_for(statement, asked, TimePoints(self._journal, asked.parameters))
        finally:
            statement.close()

    def run_direct(
        self,
        asked: StatementRequest,
        cancellation: Cancellation,
        author: Author,
        temporary: Temporary,
    ) -> StatementOutcome | None:
        """Run a write inside the commit section if its plan is known to be bounded, else None.

        For autocommit only: what it wrote is committed when this returns.
        """
        if not self._journal.takes_direct:
            return None
        settings, parameters = asked.settings, asked.parameters
        asked = replace(asked, swift=self._journal.can_fail)
        key = plan_key(asked, temporary.plans)
        if settings.as_of is not None or not self._cache.is_bounded(key):
            return None
        with self._journal.direct(settings.commit_message, cancellation) as statement:
            temporary.show(statement.transaction)
            statement.session.use_zone(settings.timezone)
            times = TimePoints(self._journal, parameters)
            found = None
            if self._recall is not None and self._recall.is_likely(statement.transaction, asked):
                found = self._recall.plan(statement, asked, times)
            plan, given = found or (self.plan_for(statement, asked, times), parameters)
            if not plan.bounded or temporary.concerns(plan.reads | plan.writes):
                return None
            statement.check_segments(plan.tables)
            statement.show_positions(plan.scans)
            statement.lock_written(plan.writes)
            version = self._journal.clock.next()
            bound = self._bound(statement, plan, given, version)
            run = StatementRun(bound, version, direct=True)
            try:
                with cancellation.watching(statement.session):
                    for step in plan.steps:
                        self._step(statement, plan, step, run, asked)
            except PalimpsestError as error:
                if is_unexplained(error, plan):
                    return None
                raise diagnosed(error, asked, statement.transaction.catalog) from error
            if run.appended:
                text = digest(asked.parsed)
                statement.commit_direct(version, run.appended, text, author)
        return outcome_of(plan, run)

    def plan_for(
        self, statement: OpenStatement, asked: StatementRequest, times: TimePoints
    ) -> StatementPlan:
        """The plan of a statement as it sees the journals, made now or before."""
        parsed, settings = asked.parsed, asked.settings
        transaction = statement.transaction
        seen: dict[int, TableScanInfo] = {}
        sights = sights_of(statement, seen)
        key = plan_key(asked, transaction.plans)
        find = times.of(statement)
        plan = self._cache.plan(key, transaction.catalog, sights, find)
        if plan is not None:
            return plan
        seen.clear()
        context = RewriteContext(
            transaction.catalog,
            sights,
            dialect=asked.dialect,
            path=settings.search_path,
            times=find,
            as_of=settings.as_of,
            describe=describer(statement, asked.parameters),
            dropped=dropped_tables(statement),
            new_table_id=self._journal.new_table_id() if creates(parsed) else 0,
            batch=asked.batch is not None,
            swift=asked.swift,
            recalled=asked.recalled,
            references=self._journal.keeps_references,
            column_name=self._journal.column_name,
            job_kinds=known.names,
            limits=settings.limits,
        )
        plan = rewrite_statement(parsed.statement, context)
        if plan.kind is not StatementKind.DDL:
            catalogs = tuple(find(point).catalog for point in plan.points)
            entry = CachedPlan(plan, transaction.catalog, dict(seen), catalogs)
            self._cache.keep_plan(key, entry)
        return plan

    def run_steps(
        self,
        statement: OpenStatement,
        plan: StatementPlan,
        asked: StatementRequest,
        parameters: Mapping[str, Any],
    ) -> StatementOutcome:
        """Run a plan in its transaction, which takes what is written."""
        transaction = statement.transaction
        version = 0 if plan.kind is StatementKind.READ else self._journal.clock.next()
        run = StatementRun(self._bound(statement, plan, parameters, version), version)
        try:
            for step in plan.steps:
                self._step(statement, plan, step, run, asked)
        except BaseException:
            self._forget(run)
            raise
        if plan.kind is StatementKind.READ:
            return run.returned or StatementOutcome(plan.tag, run.count)
        if run.rows or run.changes:
            rows, changes = tuple(run.rows), tuple(run.changes)
            transaction.record(StatementWrites(version, rows, changes, digest(asked.parsed)))
        return outcome_of(plan, run)

    def _bound(
        self,
        statement: OpenStatement,
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
            root = Path(self._journal.place)
            table = statement.transaction.catalog.by_id(place.table_id)
            if table is not None:
                value = lookup.constant(place.value, parameters)
                paths = self._filters.narrow(root, table, paths, value, place.column)
            bound[place.name] = [str(root / path) for path in paths]
        return bound

    def _step(
        self,
        statement: OpenStatement,
        plan: StatementPlan,
        step: object,
        run: StatementRun,
        asked: StatementRequest,
    ) -> None:
        session = statement.session
        match step:
            case Stage():
                given = (self._journal, statement, step, asked, run.parameters)
                step, skipped = loaded(*given)
                run.skipped += skipped
                written = statement.stage(step, run.parameters, asked.settings.memory_rows)
                if written is not None:
                    run.ahead[step.name] = written
            case Guard():
                session.execute(statement.left_to_ask(step, run.ahead), run.parameters)
                found = session.fetch_many(1)
                if found:
                    text = step.message.format(*found[0])
                    raise PalimpsestError(step.code, text, advice=step.advice)
            case AllocateIdentity():
                run.parameters[step.name] = self.number(statement, step)
            case SkipNumbers(table_id, column, start, increment, query):
                session.execute(query, run.parameters)
                highest = session.fetch_many(1)[0][0]
                if highest is not None:
                    key = (table_id, column)
                    self._journal.counters.skip_past(key, int(highest), start, increment)
            case Append():
                self._append(statement, step, run, asked.settings, plan.bounded)
            case Count(query):
                session.execute(query, run.parameters)
                run.count = int(session.fetch_many(1)[0][0])
            case Export():
                run.count = exported(statement, step, run.parameters)
            case Change(change):
                run.changes.append(change)
            case Fetch(query) if plan.kind is StatementKind.READ:
                session.stream(query, run.parameters)
                told = partial(diagnosed, asked=asked, catalog=statement.transaction.catalog)
                rows = StreamedRows(statement, told)
                run.returned = StatementOutcome(plan.tag, -1, session.columns(), rows)
            case Fetch(query):
                run.returned = self._held(statement, query, run.parameters)
            case _:
                raise AssertionError(step)

    def _append(
        self,
        statement: OpenStatement,
        step: Append,
        run: StatementRun,
        settings: Settings,
        bounded: bool,
    ) -> None:
        catalog = statement.transaction.catalog
        table = changed_table(run, step.table_id) or catalog.by_id(step.table_id)
        assert table is not None
        if run.direct:
            total = statement.append_direct(table, step.query, run.parameters)
            run.count, counts = step.counts(total)
            if total:
                run.appended[table.id] = counts
            return
        rows_max = None if bounded else settings.memory_rows
        rows = run.ahead.pop(step.stage, None) or statement.append(
            table, step.query, run.parameters, rows_max
        )
        if rows is not None:
            run.rows.append((table.id, rows))
        if step.single or step.per_change is not None:
            run.count, _ = step.counts(0 if rows is None else rows.counts.total)

    def _held(
        self, statement: OpenStatement, query: Query, parameters: Mapping[str, Any]
    ) -> StatementOutcome:
        session = statement.session
        session.execute(query, parameters)
        columns = session.columns()
        table = session.rest_as_arrow()
        return StatementOutcome("", table.num_rows, columns, self.rows(table))

    def held(self, tag: str, table: pa.Table) -> StatementOutcome:
        """An outcome whose rows the gateway itself has made."""
        with self._journal.reading_session() as session:
            columns = session.arrow_columns(table)
        return StatementOutcome(tag, table.num_rows, columns, self.rows(table))

    def rows(self, table: pa.Table) -> BufferedRows:
        """Rows that are in memory, to be fetched."""
        return BufferedRows(table, self.rows_of)

    def rows_of(self, table: pa.Table) -> list[Row]:
        """Arrow rows as Python values, converted by the store."""
        with self._journal.reading_session() as session:
            return session.arrow_rows(table)

    def number(self, statement: OpenStatement, step: AllocateIdentity) -> int:
        """The first of the generated numbers that a step takes."""
        count = step.count
        if step.stage is not None:
            count = statement.session.count(step.stage)
        key = (step.table_id, step.column)
        return self._journal.counters.reserve(key, count, step.start, step.increment)

    def _forget(self, run: StatementRun) -> None:
        for rows in (*(r for _, r in run.rows), *run.ahead.values()):
            files = getattr(rows, "files", ())
            self._journal.forget_files(files)
