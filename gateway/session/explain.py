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
from gateway.session.plan_formats import HIDDEN, hides_rows, step_names, written_plan
from gateway.session.planner import Planner
from gateway.session.results import buffer_rows
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
from journal.model.store_plan import ExplainOptions, PlanFormat, StorePlan
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.transaction import Transaction
from rewriter.reading.taken_types import AS_WRITTEN
from rewriter.statement import Explain

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
        explained = request.parsed.statement
        with call.cancellation.watching(statement.session):
            told = explain_plan(statement, plan, parameters, explained.options)
        shown, columns = _table(plan, told, explained), list(explain_columns(explained.options))
        rows = buffer_rows(self.journal, shown)
        return StatementOutcome("EXPLAIN", shown.num_rows, columns, rows)

    def falls_through(self, error: PalimpsestError, plan: StatementPlan | None) -> bool:
        """Never: there is no other form."""
        return False


def explain_columns(options: ExplainOptions) -> tuple[ResultColumn, ...]:
    """The columns of the answer."""
    if options.format is PlanFormat.OWN:
        return EXPLAIN_COLUMNS
    kind = AS_WRITTEN if options.format is PlanFormat.JSON else "VARCHAR"
    return (ResultColumn("QUERY PLAN", kind),)


def explain_plan(
    statement: OpenStatement,
    plan: StatementPlan,
    bound: Mapping[str, Any],
    options: ExplainOptions,
) -> StorePlan | None:
    """The store's plan, None where it makes or shows none; the statement's stay there ends here."""
    try:
        changes = plan.kind is not StatementKind.READ or plan.takes_numbers
        # A store measures the query of a COPY, and would write no file.
        if options.analyze and (changes or isinstance(plan.steps[-1], Export)):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "EXPLAIN ANALYZE of a statement that writes is not supported",
                advice="EXPLAIN it, which runs nothing, or EXPLAIN ANALYZE the query in it",
            )
        if changes or hides_rows(plan):
            return None
        return _store_plan(statement, plan, bound, options)
    finally:
        statement.close()


def _store_plan(
    statement: OpenStatement,
    plan: StatementPlan,
    bound: Mapping[str, Any],
    options: ExplainOptions,
) -> StorePlan:
    given = {**bound, **statement.prepare(plan, bound)}
    *before, last = plan.steps
    for step in before:
        assert isinstance(step, Stage)
        statement.session.stage(step.name, step.query, given)
    assert isinstance(last, Fetch | Export)
    return statement.session.explain(last.query, given, options)


def _table(plan: StatementPlan, told: StorePlan | None, explained: Explain) -> pa.Table:
    if explained.options.format is not PlanFormat.OWN:
        return pa.table({"QUERY PLAN": written_plan(plan, told, explained)})
    # Key and text, as the embedded store's own EXPLAIN has them.
    lines = [f"{i}. {name}" for i, name in enumerate(step_names(plan), 1)]
    rows = [("palimpsest_steps", "\n".join(lines))]
    if plan.shapes:
        shapes = [f"{s.table}: {s.shape} ({s.reason})" for s in plan.shapes]
        rows.append(("palimpsest_shapes", "\n".join(shapes)))
    if told is not None:
        rows.append(("physical_plan", "\n".join(told.lines)))
    elif hides_rows(plan):
        rows.append(("physical_plan", HIDDEN))
    return pa.table({c.name: [row[i] for row in rows] for i, c in enumerate(EXPLAIN_COLUMNS)})
