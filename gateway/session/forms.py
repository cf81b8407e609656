"""The forms in which a statement can run: strategies over one sequence of steps.

    open a statement -> plan -> check -> prepare -> run the steps -> let the transaction take them

    OneTripForm   a bounded write that is committed as it is sent, where nobody else commits
    InlineForm    a bounded write inside the commit section, which commits it at once
    AskedOnceForm one query of a transaction, sent with all that is around it
    CachedRows    on rows that are in memory (``cached_rows``)
    StoreForm     in the store: first by a plan that fails without saying why, then by a full one;
                  by a careful one where an expression may have failed on a row that has ended

A form that cannot run a statement leaves it to the next; the executor has their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from gateway.lineage.dependents import check_dropped
from gateway.lineage.passed_tags import with_passed_tags
from gateway.session.cancellation import Cancellation
from gateway.session.diagnosis import is_unexplained, may_be_of_ended
from gateway.session.outcome import StatementOutcome
from gateway.session.planner import Planner
from gateway.session.request import StatementRequest, digest
from gateway.session.scan_info import supply_system_rows
from gateway.session.standing_reads import FINAL, ReadRun, note_run
from gateway.session.standing_writes import note_plan
from gateway.session.steps import record_writes, run_steps
from gateway.session.time_points import TimePoints, check_kept_history
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.number_source import CounterPosition
from journal.model.plan import (
    BATCH,
    P_CURRENT,
    P_ROWS,
    P_SNAPSHOT,
    P_VERSION,
    StatementKind,
    StatementPlan,
)
from journal.model.store_session import LongWay
from journal.transactions.protocol import (
    InlineStatement,
    OneTrips,
    OneTripStatement,
    OpenJournal,
    OpenStatement,
)
from journal.transactions.statement_run import StatementRun
from journal.transactions.temporary import Temporary
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author
from rewriter.context import PlanForm
from rewriter.statement import SqlStatement

Opened = TypeVar("Opened", bound=OpenStatement)
Planned = tuple[StatementPlan, dict[str, Any]]
"""A plan, and the parameters it is given: the client's, and perhaps rows."""


@dataclass(frozen=True, slots=True)
class StatementCall:
    """A statement on its way through the forms, and who may stop it."""

    request: StatementRequest
    times: TimePoints
    cancellation: Cancellation


class Form(Protocol[Opened]):
    """One way to run a statement."""

    def open(self, call: StatementCall) -> AbstractContextManager[Opened]:
        """The statement's stay in the store."""

    def plan(self, statement: Opened, call: StatementCall) -> Planned | None:
        """The plan to run; None if the statement needs another form."""

    def run(
        self, statement: Opened, planned: Planned, call: StatementCall
    ) -> StatementOutcome | None:
        """Run it; None if the statement needs another form."""

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """True if the next form shall run the statement instead; may raise a better error."""


def start_run(
    journal: OpenJournal,
    statement: OpenStatement,
    plan: StatementPlan,
    parameters: dict[str, Any],
    request: StatementRequest,
) -> StatementRun:
    """A run of a plan under a version of its own, if it writes."""
    version = 0 if plan.kind is StatementKind.READ else journal.clock.next()
    parameters[P_VERSION] = version
    parameters[P_SNAPSHOT] = statement.transaction.snapshot.version
    transaction = statement.transaction
    numbers = transaction.numbers
    for place, source in enumerate(plan.currents):
        if isinstance(source, CounterPosition):
            table_id = source.source.table_id
            counters = numbers.counters_of(table_id, transaction.catalog, journal.counters)
            shown = numbers.position(source.source, counters)
        else:
            shown = numbers.current(source)
        parameters[f"{P_CURRENT}{place}"] = shown
    parameters |= counted_rows(statement, plan)
    return StatementRun(
        *(parameters, version, request.settings.memory_rows),
        few=plan.bounded,
        session_numbers=numbers,
        catalog=transaction.catalog,
    )


def counted_rows(statement: OpenStatement, plan: StatementPlan) -> dict[str, int]:
    """The parameters with the numbers of rows that a plan is given."""
    states = [statement.committed.tables.get(table_id) for table_id in plan.counted]
    rows = [0 if state is None else state.current_rows for state in states]
    return {f"{P_ROWS}{place}": number for place, number in enumerate(rows)}


def unwritten_parameters(
    statement: OpenStatement, plan: StatementPlan, call: StatementCall
) -> dict[str, Any]:
    """The parameters of a plan that is only looked at: rows of it would have version 0."""
    found = {P_VERSION: 0, P_SNAPSHOT: statement.transaction.snapshot.version}
    found |= {f"{P_CURRENT}{place}": 0 for place in range(len(plan.currents))}
    return {**found, **counted_rows(statement, plan), **call.times.bind(statement, plan)}


@dataclass(frozen=True, slots=True)
class StoreForm:
    """In a transaction, by the plan of a form."""

    journal: OpenJournal
    planner: Planner
    transaction: Transaction
    form: PlanForm

    def open(self, call: StatementCall) -> AbstractContextManager[OpenStatement]:
        """A statement of the transaction."""
        return self.journal.statement(self.transaction)

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned:
        """The plan of that form."""
        request = call.request
        statement.session.use_zone(request.settings.timezone)
        plan = self.planner.plan(statement, request.in_form(self.form), call.times)
        return plan, dict(request.parameters)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome:
        """Run the steps; the transaction takes what they write."""
        outcome, plan, run = self.executed(statement, planned, call)
        record_writes(statement, plan, run, call.request)
        return outcome

    def executed(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> tuple[StatementOutcome, StatementPlan, StatementRun]:
        """Run the steps; the transaction has not taken yet what they have written."""
        (plan, parameters), request = planned, call.request
        plan = self._with_passed_tags(statement, plan, request)
        parameters |= statement.prepare(plan, parameters)
        supply_system_rows(statement, plan, request.settings, call.times, self.planner)
        if request.batch is not None:
            statement.session.show_arrow(BATCH, request.batch)
        with call.cancellation.watching(statement.session):
            parameters |= call.times.bind(statement, plan)
            check_kept_history(request.settings, statement, plan, parameters)
            run = start_run(self.journal, statement, plan, parameters, request)
            notices = self._check_dropped(statement, plan, request)
            outcome = run_steps(self.journal, statement, plan, run, request)
            outcome.notices += notices
        return outcome, plan, run

    def _check_dropped(
        self, statement: OpenStatement, plan: StatementPlan, request: StatementRequest
    ) -> tuple[str, ...]:
        """What was filled from what the statement drops; raises where it may not drop it so."""
        if plan.kind is not StatementKind.DDL or not self.planner.lineage.is_on:
            return ()
        known = request.parsed.statement
        ast = known.ast if isinstance(known, SqlStatement) else None
        catalog = statement.transaction.catalog
        return check_dropped(self.journal, plan, ast, catalog, request.settings.role)

    def _with_passed_tags(
        self, statement: OpenStatement, plan: StatementPlan, request: StatementRequest
    ) -> StatementPlan:
        """The plan, and the tags that it passes on to what was filled before."""
        ledger, transaction = self.planner.lineage, statement.transaction
        if plan.kind is not StatementKind.DDL or not ledger.is_on:
            return plan
        role, edges = request.settings.role, ledger.uncommitted_edges(transaction)
        return with_passed_tags(self.journal, plan, transaction.catalog, role, edges)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """After an error that an optimistic plan does not explain, or a row that has ended may."""
        if plan is None:
            return False
        return is_unexplained(error, plan) or may_be_of_ended(error, plan)


class CachePlanner(Protocol):
    """Plans on rows that are in memory."""

    def is_likely(self, transaction: Transaction, request: StatementRequest) -> bool:
        """True if the rows that a statement looked up the last time may be in memory."""

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned | None:
        """A plan on rows in memory; None if it needs other rows."""


@dataclass(frozen=True, slots=True)
class InlineForm:
    """Inside the commit section: what it wrote is committed when ``run`` returns."""

    journal: OpenJournal
    planner: Planner
    cached: CachePlanner | None
    form: PlanForm
    author: Author
    temporary: Temporary

    @contextmanager
    def open(self, call: StatementCall) -> Iterator[InlineStatement]:
        """A statement in a transaction of its own, while no other transaction can commit."""
        message = call.request.settings.commit_message
        assert self.journal.inline is not None, "the executor looks first"
        with self.journal.inline(message, call.cancellation) as statement:
            self.temporary.show(statement.transaction)
            yield statement

    def plan(self, statement: InlineStatement, call: StatementCall) -> Planned | None:
        """A plan that is known to be bounded, on rows in memory if it can be."""
        request = call.request
        statement.session.use_zone(request.settings.timezone)
        found = None
        if self.cached is not None and self.cached.is_likely(statement.transaction, request):
            found = self.cached.plan(statement, call)
        if found is None:
            plan = self.planner.plan(statement, request.in_form(self.form), call.times)
            found = plan, dict(request.parameters)
        return found if self.takes(found[0]) else None

    def takes(self, plan: StatementPlan) -> bool:
        """True for a bounded plan of shared tables whose lineage is on record."""
        is_own = self.temporary.concerns(plan.reads | plan.writes)
        # What has lineage to record goes the long way, once.
        return plan.bounded and not is_own and self.planner.lineage.is_on_record(plan.trace)

    def run(
        self, statement: InlineStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome:
        """Run the steps, which append to journals, and commit."""
        (plan, parameters), request = planned, call.request
        parameters |= statement.prepare(plan, parameters)
        run = start_run(self.journal, statement, plan, parameters, request)
        with call.cancellation.watching(statement.session):
            outcome = run_steps(self.journal, statement, plan, run, request)
        if run.appended:
            statement.commit(run, digest(request.parsed, request.dialect), self.author)
            self.count(statement, plan, run, request)
        return outcome

    def count(
        self,
        statement: OpenStatement,
        plan: StatementPlan,
        run: StatementRun,
        request: StatementRequest,
    ) -> None:
        """Note that a statement is committed."""
        origin = request.origin(plan)
        if origin is not None:
            told = (statement.transaction.catalog, self.author, run.version)
            self.planner.lineage.count_inline(origin, *told)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """After an error that the plan does not explain."""
        return plan is not None and is_unexplained(error, plan)


@dataclass(frozen=True, slots=True)
class OneTripForm:
    """Committed as it is sent, by a plan that is known, on the state that was seen last."""

    inline: InlineForm

    @contextmanager
    def open(self, call: StatementCall) -> Iterator[OneTripStatement]:
        """A statement in a transaction of its own; the store is asked nothing yet."""
        journal, message = self.inline.journal, call.request.settings.commit_message
        assert journal.at_once is not None, "the executor looks first"
        with journal.at_once.start(message, call.cancellation) as statement:
            self.inline.temporary.show(statement.transaction)
            yield statement

    def plan(self, statement: OneTripStatement, call: StatementCall) -> Planned | None:
        """The plan that was made before, if it can be run so."""
        request = call.request.in_form(self.inline.form)
        known = self.inline.planner.known_plan(statement, request, call.times)
        if known is None or not self.inline.takes(known.plan) or not statement.takes(known.plan):
            return None
        note_plan(call.request, known)
        return known.plan, dict(request.parameters)

    def run(
        self, statement: OneTripStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome | None:
        """Write and commit; None where the state is another one."""
        (plan, parameters), request = planned, call.request
        run = start_run(self.inline.journal, statement, plan, parameters, request)
        told = digest(request.parsed, request.dialect), self.inline.author
        with call.cancellation.watching(statement.session):
            if not statement.write(plan, run, *told):
                return None
        if run.appended:
            self.inline.count(statement, plan, run, request)
        return StatementOutcome(plan.tag, run.count, written=run.appended, notices=plan.notices)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """After any error that leaves nothing written: the long way says best what it is."""
        return plan is not None and error.code not in FINAL


@dataclass(frozen=True, slots=True)
class AskedOnceForm:
    """In a transaction, by a plan of one query that is known, on the state that was seen last."""

    store: StoreForm

    def open(self, call: StatementCall) -> AbstractContextManager[OpenStatement]:
        """A statement of the transaction; the store is asked nothing yet."""
        return self._trips.asking(self.store.transaction)

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned | None:
        """The plan that was made before, if it can be run so."""
        request = call.request.in_form(self.store.form)
        known = self.store.planner.known_plan(statement, request, call.times)
        if known is None or not self._trips.takes(known.plan):
            return None
        return known.plan, dict(request.parameters)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome | None:
        """Run its one step; None where the state is another one, or more has to be asked."""
        try:
            outcome = self.store.run(statement, planned, call)
        except LongWay:
            return None
        plan = planned[0]
        if plan.kind is StatementKind.READ:
            known = {P_VERSION: 0, P_SNAPSHOT: statement.transaction.snapshot.version}
            given = {**known, **counted_rows(statement, plan)}
            note_run(call.request, ReadRun(plan, statement.committed, given))
        return outcome

    @property
    def _trips(self) -> OneTrips:
        trips = self.store.journal.at_once
        assert trips is not None, "the executor looks first"
        return trips

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """After any error, as of one trip: the long way says best what it is."""
        return plan is not None and error.code not in FINAL
