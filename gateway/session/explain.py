"""EXPLAIN: the gateway's plan of a statement, and the store's plan of its query.

Only EXPLAIN ANALYZE runs anything, and only a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Export, Fetch, Stage, StatementKind, StatementPlan
from journal.transactions.protocol import OpenStatement


def explained(
    statement: OpenStatement, plan: StatementPlan, bound: Mapping[str, Any], *, analyze: bool
) -> pa.Table:
    """The plan as rows; the statement's stay in the store ends here."""
    try:
        if analyze and plan.kind is not StatementKind.READ:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "EXPLAIN ANALYZE of a statement that writes is not supported",
                advice="EXPLAIN it, which runs nothing, or EXPLAIN ANALYZE the query in it",
            )
        text = (
            _store_plan(statement, plan, bound, analyze)
            if plan.kind is StatementKind.READ
            else None
        )
    finally:
        statement.close()
    return _rows(plan, text)


def _store_plan(
    statement: OpenStatement, plan: StatementPlan, bound: Mapping[str, Any], analyze: bool
) -> str:
    if analyze:
        statement.check_segments(plan.tables)
    statement.show_buffers(plan.tables)
    statement.show_positions(plan.scans)
    *before, last = plan.steps
    for step in before:
        assert isinstance(step, Stage)
        statement.session.stage(step.name, step.query, bound)
    assert isinstance(last, Fetch | Export)
    return statement.session.explain(last.query, bound, analyze=analyze)


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
    names = ("explain_key", "explain_value")
    return pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})
