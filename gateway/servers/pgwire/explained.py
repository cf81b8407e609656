"""EXPLAIN (FORMAT JSON) of a prepared statement, by which sqlx learns which columns may be NULL.

sqlx takes a column that is NOT NULL in its table for one without NULLs, unless the plan has it in
the nullable side of an outer join. The answer names the outputs alone, and as such those that are
no columns of a relation on the other side, by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from journal.model.result_column import ResultColumn
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_EXPLAIN = re.compile(
    r"\s*EXPLAIN\s*\(\s*VERBOSE\s*,\s*FORMAT\s+JSON\s*\)\s*EXECUTE\s+(\w+)\s*(\([\sNULL,]*\))?\s*",
    re.IGNORECASE,
)


def explained_name(text: str) -> str | None:
    """The name of the prepared statement that a text explains so; None for other texts."""
    found = _EXPLAIN.fullmatch(text)
    return None if found is None else found[1]


def plan_of(parsed: Parsed | None, columns: Sequence[ResultColumn]) -> exp.Expr:
    """A query on the catalog that gives the answer for a statement with these columns."""
    # Each by a text of its own, since they are found by it.
    outputs = [f"{place}. {column.name}" for place, column in enumerate(columns, 1)]
    plan: dict[str, object] = {"Node Type": "Result", "Output": outputs}
    if _joins_outer(parsed):
        kept = _kept_outputs(parsed)
        lost = [output for place, output in enumerate(outputs) if place not in kept]
        inner = {"Node Type": "Result", "Parent Relationship": "Inner", "Output": lost}
        plan |= {"Join Type": "Left", "Plans": [inner]}
    answer = exp.Literal.string(json.dumps([{"Plan": plan}])).sql(dialect="postgres")
    return sqlglot.parse_one(f'SELECT CAST({answer} AS JSON) AS "QUERY PLAN"', dialect="postgres")


def _joins_outer(parsed: Parsed | None) -> bool:
    if parsed is None or not isinstance(parsed.statement, SqlStatement):
        return False
    return any(join.side for join in parsed.statement.ast.find_all(exp.Join))


def _kept_outputs(parsed: Parsed | None) -> set[int]:
    """The places of columns that no outer join fills with NULL; none where that is not plain."""
    ast = parsed.statement.ast if parsed and isinstance(parsed.statement, SqlStatement) else None
    if not isinstance(ast, exp.Select) or any(output.is_star for output in ast.expressions):
        return set()
    joins = ast.args.get("joins") or []
    source = ast.args.get("from_")
    if source is None or any(j.side for j in ast.find_all(exp.Join) if j.parent is not ast):
        return set()
    kept = {source.this.alias_or_name.lower()}
    for join in joins:
        kept = set() if join.side in {"RIGHT", "FULL"} else kept
        if join.side not in {"LEFT", "FULL"}:
            kept.add(join.this.alias_or_name.lower())
    values = [output.unalias() for output in ast.expressions]
    return {
        place
        for place, value in enumerate(values)
        if isinstance(value, exp.Column) and value.table.lower() in kept
    }
