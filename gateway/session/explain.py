"""EXPLAIN: the gateway's plan of a statement, and the store's plan of its query.

Only EXPLAIN ANALYZE runs anything, and only a query. Whoever reads a table under policies gets the
gateway's plan alone: that of the store has the policies' expressions, and counts hidden rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from gateway.session.forms import Planned, StatementCall, unwritten_parameters
from gateway.session.outcome import StatementOutcome
from gateway.session.planner import Planner
from gateway.session.results import table_outcome
from gateway.session.scan_info import supply_system_rows
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    Export,
    Fetch,
    Stage,
    StatementKind,
    StatementPlan,
)
from journal.model.result_column import ResultColumn
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.transaction import Transaction
from rewriter.reading.policies.security import POLICIES
from rewriter.statement import Explain

_HIDDEN = "not shown, and not run: the role reads a table under policies"
EXPLAIN_COLUMNS = (
    ResultColumn("explain_key", "VARCHAR"),
    ResultColumn("explain_value", "VARCHAR"),
)


@dataclass(frozen=True, slots=True)
class ExplainForm:
    """The form of EXPLAIN: a statement is planned, and its plan is the answer."""

    journal: OpenJournal
    planner: Planner
    transaction: Transaction

    def open(self, call: StatementCall) -> AbstractContextManager[OpenStatement]:
        """A statement of the transaction."""
        return self.journal.statement(self.transaction)

    def plan(self, statement: OpenStatement, call: StatementCall) -> Planned:
        """The full plan of the explained statement."""
        request = call.request
        statement.session.use_zone(request.settings.timezone)
        return self.planner.plan(statement, request, call.times), dict(request.parameters)

    def run(
        self, statement: OpenStatement, planned: Planned, call: StatementCall
    ) -> StatementOutcome:
        """Show the plan."""
        (plan, parameters), request = planned, call.request
        assert isinstance(request.parsed.statement, Explain)
        parameters |= unwritten_parameters(statement, plan, call)
        supply_system_rows(statement, plan, request.settings, call.times, self.planner)
        analyze = request.parsed.statement.analyze
        with call.cancellation.watching(statement.session):
            shown = explain_plan(statement, plan, parameters, analyze=analyze)
        return table_outcome(self.journal, "EXPLAIN", shown)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """Never: there is no other form."""
        return False


def explain_plan(
    statement: OpenStatement, plan: StatementPlan, bound: Mapping[str, Any], *, analyze: bool
) -> pa.Table:
    """The plan as rows; the statement's stay in the store ends here."""
    try:
        changes = plan.kind is not StatementKind.READ or plan.takes_numbers
        # A store measures the query of a COPY, and would write no file.
        if analyze and (changes or isinstance(plan.steps[-1], Export)):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "EXPLAIN ANALYZE of a statement that writes is not supported",
                advice="EXPLAIN it, which runs nothing, or EXPLAIN ANALYZE the query in it",
            )
        text = None
        if not changes:
            hides = any(shape.shape == POLICIES for shape in plan.shapes)
            text = _HIDDEN if hides else _store_plan(statement, plan, bound, analyze)
    finally:
        statement.close()
    return _rows(plan, text)


def _store_plan(
    statement: OpenStatement, plan: StatementPlan, bound: Mapping[str, Any], analyze: bool
) -> str:
    given = {**bound, **statement.prepare(plan, bound)}
    *before, last = plan.steps
    for step in before:
        assert isinstance(step, Stage)
        statement.session.stage(step.name, step.query, given)
    assert isinstance(last, Fetch | Export)
    return statement.session.explain(last.query, given, analyze=analyze)


def _rows(plan: StatementPlan, store_plan: str | None) -> pa.Table:
    """Key and text, as the embedded store's own EXPLAIN has them."""
    steps = [type(step).__name__.lower() for step in plan.steps]
    lines = [f"{i}. {name}" for i, name in enumerate(steps, 1)]
    rows = [("palimpsest_steps", "\n".join(lines))]
    if plan.shapes:
        shapes = [f"{s.table}: {s.shape} ({s.reason})" for s in plan.shapes]
        rows.append(("palimpsest_shapes", "\n".join(shapes)))
    if store_plan is not None:
        rows.append(("physical_plan", store_plan))
    return pa.table({c.name: [row[i] for row in rows] for i, c in enumerate(EXPLAIN_COLUMNS)})
