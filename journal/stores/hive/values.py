"""VALUES with subqueries in them, which Spark does not take: a SELECT for each row. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql.relations import union_all


def spread_values(holder: exp.Expr) -> None:
    """Put a union of SELECTs in the place of each VALUES that asks a query for a value."""
    for values in list(holder.find_all(exp.Values)):
        if any(row.find(exp.Query) is not None for row in values.expressions):
            rows: list[exp.Query] = [row_of(row) for row in values.expressions]
            alias = values.args.get("alias")
            values.replace(exp.Subquery(this=union_all(rows), alias=alias))


def row_of(row: exp.Expr) -> exp.Select:
    """A row of VALUES as a SELECT."""
    cells = row.expressions if isinstance(row, exp.Tuple) else [row]
    return exp.select(*[exp.alias_(cell.copy(), f"c{i}") for i, cell in enumerate(cells)])
