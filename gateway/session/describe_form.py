"""The form of a statement that is described: it is planned, and its query is not run."""

from __future__ import annotations

from contextlib import AbstractContextManager

from gateway.session.forms import Planned, StatementCall, unwritten_parameters
from gateway.session.outcome import StatementOutcome
from gateway.session.planner import Planner
from gateway.session.scan_info import supply_system_rows
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    Fetch,
    Stage,
    StatementKind,
    StatementPlan,
)
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.transaction import Transaction


@dataclass(frozen=True, slots=True)
class DescribeForm:
    """The form of a statement that is described: planned, its query asked for its columns."""

    journal: OpenJournal
    planner: Planner
    transaction: Transaction

    def open(self, call: StatementCall) -> AbstractContextManager[OpenStatement]:
        """A statement of the transaction."""
        return self.journal.statement(self.transaction)

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned:
        """The full plan."""
        request = call.request
        statement.session.use_zone(request.settings.timezone)
        return self.planner.plan(statement, request, call.times), dict(request.parameters)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome:
        """The columns, without rows; of a statement that gives none, no columns."""
        (plan, parameters), request = planned, call.request
        query = next((step.query for step in plan.steps if isinstance(step, Fetch)), None)
        if query is None or plan.kind is not StatementKind.READ:
            return StatementOutcome(plan.tag)
        parameters |= unwritten_parameters(statement, plan, call)
        parameters |= statement.prepare(plan, parameters)
        supply_system_rows(statement, plan, request.settings, call.times, self.planner)
        _stage(statement, plan, parameters)
        columns = statement.session.describe(query, parameters)
        return StatementOutcome(plan.tag, columns=columns)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """Never: there is no other form."""
        return False


def _stage(statement: OpenStatement, plan: StatementPlan, parameters: dict[str, object]) -> None:
    for step in plan.steps:
        if isinstance(step, Stage):
            statement.session.stage(step.name, step.query, parameters)
