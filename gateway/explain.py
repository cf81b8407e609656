"""EXPLAIN: the gateway's plan of a statement, and the store's plan of its query; nothing runs."""

from __future__ import annotations

import pyarrow as pa

from journal.plan import StatementPlan


def explained(plan: StatementPlan, store_plan: str | None) -> pa.Table:
    """Rows of key and text, as the embedded store's own EXPLAIN has them."""
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
