"""The form that plans a statement and describes its result, without running it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sqlglot import exp

from gateway.session.forms import Planned, StatementCall, unwritten_parameters
from gateway.session.outcome import StatementOutcome
from gateway.session.planner import Planner
from gateway.session.scan_info import supply_system_rows
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    AllocateIdentity,
    Fetch,
    Query,
    Stage,
    StatementKind,
    StatementPlan,
    TakeNumbers,
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
        if query is None or plan.kind is StatementKind.DDL:
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
    """Make the relations that the query reads; those of a statement that writes have no rows."""
    for step in plan.steps:
        match step:
            case Stage(name, query) if plan.kind is StatementKind.READ:
                statement.session.stage(name, query, parameters)
            case Stage(name, query):
                statement.session.stage(name, _without_rows(query), parameters)
            case AllocateIdentity() | TakeNumbers():
                parameters |= {step.name: 0, f"{step.name}_turn": 0}


def _without_rows(query: Query) -> Query:
    ast = query.ast.copy()
    ast.set("limit", exp.Limit(expression=exp.Literal.number(0)))
    return Query.of(ast)
