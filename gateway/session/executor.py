"""One statement through the pipeline: the forms in their order, each over the same steps.

The only module that knows rewriter and journal both is the planner; committing is the session's
business, except for what commits inline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.activity.activity import Activity
from gateway.jobs import kind_names
from gateway.session.advisory_locks import AdvisoryLocks
from gateway.session.cached_rows import CachedForm, CachedRows
from gateway.session.cancellation import Cancellation
from gateway.session.column_names import with_client_names
from gateway.session.describe_form import DescribeForm
from gateway.session.diagnosis import with_position
from gateway.session.explain import ExplainForm
from gateway.session.forms import (
    AskedOnceForm,
    Form,
    InlineForm,
    OneTripForm,
    Opened,
    StatementCall,
    StoreForm,
)
from gateway.session.literal_templates import LiteralTemplate
from gateway.session.outcome import StatementOutcome
from gateway.session.plan_cache import plan_key
from gateway.session.planner import Planner
from gateway.session.request import StatementRequest
from gateway.session.results import StreamedRows, table_outcome
from gateway.session.row_claims import RowClaims
from gateway.session.skipping_form import SkippingForm, skips_locked
from gateway.session.time_points import TimePoints, check_present
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import (
    P_USER,
    Export,
    Fetch,
    SetNumber,
    StatementKind,
    StatementPlan,
    TakeNumbers,
)
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot
from journal.transactions.protocol import OpenJournal, OpenStatement, Upkeep
from journal.transactions.temporary import Temporary
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author
from rewriter.context import PlanForm
from rewriter.syntax.parsing import Parsed

if TYPE_CHECKING:
    from spark_compaction.maintenance import Maintenance

RunImmediate = Callable[[Any, Parsed, Mapping[str, Any]], StatementOutcome]
"""Runs a statement that is done at once, for a session, with its parameters."""


class Executor:
    """Runs parsed statements for the sessions of one store.

    ``maintained`` loads the store's programs; ``run_immediate`` runs, for a session, procedures and
    statements about entities, which rooms above this one hold.
    """

    def __init__(
        self,
        journal: OpenJournal,
        upkeep: Upkeep,
        maintained: Callable[[], Maintenance],
        run_immediate: RunImmediate,
    ) -> None:
        self.journal = journal
        self.upkeep = upkeep
        self._maintained = maintained
        self.run_immediate = run_immediate
        self.activity = Activity()
        is_shared = journal.capabilities.folder is None
        self.advisory_locks = AdvisoryLocks(journal.exclusive if is_shared else None)
        self.row_claims = RowClaims(journal.held_names)
        self.planner = Planner(journal, kind_names.kind_names, self.activity)
        self.lineage = self.planner.lineage
        able, rows = journal.capabilities, journal.in_memory
        self._usual = PlanForm.OPTIMISTIC if able.raises_in_sql else PlanForm.FULL
        self._cached = (
            None if rows is None else CachedRows(journal, self.planner, rows, self._usual)
        )

    @cached_property
    def maintenance(self) -> Maintenance:
        """What maintains the store's journals, imported when it is first needed."""
        return self._maintained()

    def close(self) -> None:
        """Record what is counted, and stop what runs in the background."""
        self.lineage.close()
        self.upkeep.close()

    def run(
        self, transaction: Transaction, request: StatementRequest, cancellation: Cancellation
    ) -> StatementOutcome:
        """Run one statement in a transaction; a query's rows are streamed."""
        transaction.check_open()
        was_fresh = transaction.is_fresh
        call = self._call(request, cancellation)
        for form in self._forms(transaction, request):
            outcome = self._attempt(form, call)
            if outcome is not None:
                transaction.is_fresh = was_fresh and outcome.at_any_state
                return outcome
        raise AssertionError("the careful form runs what no other has run")

    def run_inline(
        self,
        request: StatementRequest,
        cancellation: Cancellation,
        author: Author,
        temporary: Temporary,
    ) -> StatementOutcome | None:
        """Run a write inside the commit section if its plan is known to be bounded, else None.

        For autocommit only: what it wrote is committed when this returns.
        """
        settings = request.settings
        if self.journal.inline is None or settings.as_of is not None or settings.is_read_only:
            return None
        if skips_locked(request):
            return None
        key = plan_key(request.in_form(self._usual), temporary.plans)
        if not self.planner.cache.is_bounded(key):
            return None
        form = InlineForm(self.journal, self.planner, self._cached, self._usual, author, temporary)
        trips = self.journal.at_once
        if trips is not None and trips.may_write() and settings.timezone is None:
            done = self._attempt(OneTripForm(form), self._call(request, cancellation))
            if done is not None:
                return done
        return self._attempt(form, self._call(request, cancellation))

    def plan(self, transaction: Transaction, request: StatementRequest) -> StatementPlan:
        """The plan a statement would have now; nothing runs."""
        with self.journal.statement(transaction) as statement:
            times = TimePoints(self.journal, request.parameters)
            return self.planner.plan(statement, request, times)

    def describe(
        self, transaction: Transaction, request: StatementRequest, cancellation: Cancellation
    ) -> list[ResultColumn] | None:
        """The columns of the rows that a statement would give; nothing runs.

        As it reads no rows, a transaction that is fresh stays so.
        """
        was_fresh = transaction.is_fresh
        form = DescribeForm(self.journal, self.planner, transaction)
        try:
            outcome = self._attempt(form, self._call(request, cancellation))
        finally:
            transaction.is_fresh = was_fresh
        return None if outcome is None else outcome.columns

    def table_outcome(self, tag: str, table: pa.Table) -> StatementOutcome:
        """An outcome whose rows the gateway itself has made."""
        return table_outcome(self.journal, tag, table)

    def _note_read(self, plan: StatementPlan, request: StatementRequest) -> None:
        """Count a statement that commits nothing; a file that it has written is on record now."""
        origin = request.origin(plan)
        if origin is None:
            return
        if not any(isinstance(step, Export) for step in plan.steps):
            self.lineage.count(origin)
        else:
            user = request.parameters.get(P_USER)
            self.lineage.record_export(origin, (user, request.settings.application))

    def _note_failure(
        self,
        plan: StatementPlan | None,
        request: StatementRequest,
        transaction: Transaction,
        error: PalimpsestError,
    ) -> None:
        """A statement has failed; a conflict is told of at its end, since it may be tried again."""
        if plan is None or plan.kind is StatementKind.READ or error.code is Code.SERIALIZATION:
            return
        if isinstance(request.parsed, LiteralTemplate):
            # The text itself is run yet.
            return
        origin = request.origin(plan)
        if origin is not None:
            author = Author(request.parameters.get(P_USER), request.settings.application)
            self.lineage.failed(origin, transaction.catalog, author, error)

    def _call(self, request: StatementRequest, cancellation: Cancellation) -> StatementCall:
        return StatementCall(request, TimePoints(self.journal, request.parameters), cancellation)

    def _forms(
        self, transaction: Transaction, request: StatementRequest
    ) -> Iterator[Form[OpenStatement]]:
        """The forms that may run a statement, in the order in which they are tried."""
        journal, planner = self.journal, self.planner
        if request.explains:
            yield ExplainForm(journal, planner, transaction)
            return
        if skips_locked(request):
            for form in (PlanForm.FULL, PlanForm.CAREFUL):
                usual = StoreForm(journal, planner, transaction, form)
                yield from SkippingForm(usual, self.row_claims).until_held()
            return
        if request.batch is None:
            if self._cached is not None and self._cached.is_likely(transaction, request):
                yield CachedForm(self._cached, transaction)
            usual = StoreForm(journal, planner, transaction, self._usual)
            if self._may_ask_once(transaction, request):
                yield AskedOnceForm(usual)
            if self._usual is PlanForm.OPTIMISTIC:
                yield usual
        yield StoreForm(journal, planner, transaction, PlanForm.FULL)
        yield StoreForm(journal, planner, transaction, PlanForm.CAREFUL)

    def _may_ask_once(self, transaction: Transaction, request: StatementRequest) -> bool:
        """True if one trip to the store is likely to do for a statement."""
        trips = self.journal.at_once
        if trips is None or request.settings.timezone is not None:
            return False
        asks_once = self.planner.may_ask_once(transaction, request.in_form(self._usual))
        return asks_once and trips.may_ask()

    def _attempt(self, form: Form[Opened], call: StatementCall) -> StatementOutcome | None:
        """Take a statement through its steps in one form; None if it needs another one."""
        opened: Opened | None = None
        plan: StatementPlan | None = None
        try:
            while True:
                with ExitStack() as stay:
                    stays: AbstractContextManager[Opened] = form.open(call)
                    opened = statement = stay.enter_context(stays)
                    planned = form.plan(statement, call)
                    if planned is None:
                        return None
                    plan = planned[0]
                    if not call.times.advance(statement.committed):
                        # Commits came in between: it reads at the same moments once more.
                        continue
                    writes = plan.kind is not StatementKind.READ
                    if (writes or plan.takes_numbers) and not call.request.explains:
                        if writes:
                            check_present(call.request.settings, plan)
                        if changes_shared(plan, statement.transaction.catalog):
                            statement.transaction.check_writable(plan.tag)
                    outcome = form.run(statement, planned, call)
                    if outcome is not None and not writes:
                        outcome.at_any_state = _is_at_any_state(plan)
                        self._note_read(plan, call.request)
                    if outcome is not None and isinstance(outcome.rows, StreamedRows):
                        if outcome.rows.is_held:
                            stay.pop_all()
                    known = self.journal.capabilities.names_outputs
                    if outcome is not None and outcome.columns is not None and plan.addresses:
                        outcome.columns = with_addresses(outcome.columns, plan.addresses)
                    return outcome and with_client_names(outcome, call.request, in_duckdb=known)
        except PalimpsestError as error:
            if form.falls_through(error, plan):
                return None
            if opened is None:
                raise
            self._note_failure(plan, call.request, opened.transaction, error)
            placed = with_position(error, call.request, opened.transaction.catalog)
            if placed is error:
                raise
            raise placed from error


def with_addresses(
    columns: Sequence[ResultColumn], addresses: Sequence[tuple[int, str]]
) -> list[ResultColumn]:
    """The columns, of which those at some places are addresses that the store has as texts."""
    found = list(columns)
    for place, kind in addresses:
        if place < len(found) and found[place].type.removesuffix("[]") in {"VARCHAR", "TEXT"}:
            found[place] = ResultColumn(found[place].name, kind)
    return found


def _is_at_any_state(query: StatementPlan) -> bool:
    """True if a query gives the same whatever is committed, because it reads no relation."""
    if query.reads or query.tables or query.system or query.keyed or query.points:
        return False
    # Some relations of ``system`` are tables of the store, of which plans keep no name.
    shown = (step.query.ast for step in query.steps if isinstance(step, Fetch))
    return not any(ast.find(exp.Table) for ast in shown)


def changes_shared(plan: StatementPlan, catalog: CatalogSnapshot) -> bool:
    """True if running a plan changes what others see: more than a session's temporary relations."""
    if plan.kind is StatementKind.DDL:
        return True
    own = catalog.own_ids()
    moved = (step.source for step in plan.steps if isinstance(step, TakeNumbers | SetNumber))
    if any(source.table_id not in own for source in moved):
        return True
    is_write = plan.kind is StatementKind.WRITE
    return is_write and not (plan.writes and all(map(catalog.is_own, plan.writes)))
