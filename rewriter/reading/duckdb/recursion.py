"""Recursive queries of DuckDB's dialect on a PostgreSQL store. Pure.

WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1::BIGINT FROM t)    n stays an INTEGER

DuckDB casts what the recursive part gives to the types of the first part.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.duckdb.truths import NUMBERS
from rewriter.reading.duckdb.types import DuckDBTypes


def spell_recursion(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A WITH RECURSIVE whose numbers are of one type in both parts."""
    if not node.args.get("recursive"):
        return None
    made = node.copy()
    for cte, copied in zip(node.expressions, made.expressions, strict=True):
        parts = _parts(cte)
        if parts is None:
            continue
        casts = [_cast(*pair, types) for pair in zip(*parts, strict=False)]
        shown = _parts(copied)
        assert shown is not None
        for output, kind in zip(shown[1], casts, strict=False):
            if kind is not None:
                value = output.unalias()
                value.replace(exp.cast(value.copy(), kind, dialect="duckdb"))
    return None if made == node else made


def _parts(cte: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]] | None:
    """The outputs of both parts of a recursive query, without stars."""
    query = cte.this
    if not isinstance(query, exp.Union):
        return None
    sides = (query.this.unnest(), query.expression.unnest())
    if not all(isinstance(side, exp.Select) for side in sides):
        return None
    first, second = (side.expressions for side in sides)
    if len(first) != len(second) or any(output.is_star for output in (*first, *second)):
        return None
    return first, second


def _cast(first: exp.Expr, second: exp.Expr, types: DuckDBTypes) -> str | None:
    """The type that an output of the recursive part is cast to; None where it has that."""
    value = second.unalias()
    kind = types.of(first.unalias()).kind or ""
    if types.kind_of(first.unalias()) not in NUMBERS or isinstance(value, exp.Literal):
        return None
    return None if types.of(value).kind == kind else kind
