"""Values of one type where DuckDB's dialect has numbers of several, on a PostgreSQL store. Pure.

SELECT 1.5 UNION SELECT 2             1.5 and 2.0, as of (VALUES (1.5), (2)) and [1.5, 2]
coalesce(1.5, 2)                      a number with the digits of both
CREATE TABLE t AS SELECT 1.5 AS a     a column of DECIMAL(2,1)

PostgreSQL's NUMERIC has the digits of each value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.relations import ident
from rewriter.reading.duckdb_decimals import common_decimal
from rewriter.reading.duckdb_types import DuckDBTypes
from rewriter.reading.spelling import result_spelling

CHOICES = (exp.Coalesce, exp.Case, exp.If, exp.Greatest, exp.Least)


def spell_choice(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """One of several numbers, of which some have other digits."""
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return None
    kind = types.of(node).kind or ""
    if not kind.startswith("DECIMAL(") or isinstance(node.parent, exp.Cast):
        return None
    return exp.cast(node.copy(), kind, dialect="duckdb")


def spell_list(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The numbers of a list."""
    kinds = [types.of(value).kind for value in node.expressions]
    common = common_decimal(kinds)
    if common is None or {*kinds} == {common}:
        return None
    made = node.copy()
    made.set(
        "expressions",
        [_as(common, value, kind) for value, kind in zip(made.expressions, kinds, strict=True)],
    )
    return made


def spell_rows_of_values(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The columns of VALUES in FROM."""
    rows = [row.unalias() for row in node.expressions]
    if isinstance(node.parent, exp.Insert) or not all(isinstance(r, exp.Tuple) for r in rows):
        return None
    if len({len(row.expressions) for row in rows}) != 1:
        return None
    made = node.copy()
    copies = [row.unalias() for row in made.expressions]
    for place in range(len(rows[0].expressions)):
        _align(
            [row.expressions[place] for row in rows], [r.expressions[place] for r in copies], types
        )
    return None if made == node else made


def spell_set(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The outputs of a set operation."""
    above = node.parent
    while isinstance(above, exp.Subquery | exp.Paren):
        above = above.parent
    if isinstance(above, exp.SetOperation) or node.args.get("by_name"):
        return None
    if (
        isinstance(above, exp.CTE)
        and above.parent is not None
        and above.parent.args.get("recursive")
    ):
        return None
    made = node.copy()
    sides, copies = _selects(node), _selects(made)
    if len({len(side.expressions) for side in sides}) != 1:
        return None
    if any(output.is_star for side in sides for output in side.expressions):
        return None
    for place, output in enumerate(sides[0].expressions):
        values = [side.expressions[place].unalias() for side in sides]
        _align(values, [side.expressions[place].unalias() for side in copies], types)
        named = copies[0].expressions[place]
        if isinstance(named, exp.Cast) and not isinstance(output, exp.Cast):
            named.replace(exp.alias_(named.copy(), ident(_name(output)), copy=False))
    return None if made == node else made


def _name(output: exp.Expr) -> str:
    return output.name if isinstance(output, exp.Column) else result_spelling(output)


def spell_made(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The outputs of the query that a table or view is made of."""
    if not isinstance(node.expression, exp.Query):
        return None
    made = node.copy()
    for side, copied in zip(_selects(node.expression), _selects(made.expression), strict=True):
        for output, other in zip(side.expressions, copied.expressions, strict=True):
            value = output.unalias()
            kind = types.of(value).kind or ""
            if kind.startswith("DECIMAL(") and not isinstance(value, exp.Column | exp.Cast):
                inner = other.unalias()
                cast: exp.Expr = exp.cast(inner.copy(), kind, dialect="duckdb")
                if inner is other:
                    cast = exp.alias_(cast, ident(result_spelling(output)), copy=False)
                inner.replace(cast)
    return None if made == node else made


def _selects(query: exp.Expr) -> list[exp.Expr]:
    """The SELECTs of a query, whose rows are its own."""
    inner = query.unnest()
    if isinstance(inner, exp.SetOperation):
        return [*_selects(inner.this), *_selects(inner.expression)]
    return [inner] if isinstance(inner, exp.Select) else []


def _align(values: Sequence[exp.Expr], copies: Sequence[exp.Expr], types: DuckDBTypes) -> None:
    """Cast the numbers of a column to the one type that holds them all, in the copies."""
    kinds = [None if isinstance(v, exp.Null) else types.of(v).kind for v in values]
    common = common_decimal(
        [k for v, k in zip(values, kinds, strict=True) if not isinstance(v, exp.Null)]
    )
    if common is None:
        return
    for copied, kind in zip(copies, kinds, strict=True):
        copied.replace(_as(common, copied, kind))


def _as(common: str, value: exp.Expr, kind: str | None) -> exp.Expr:
    if kind == common and isinstance(value, exp.Column | exp.Cast):
        return value.copy()
    return exp.cast(value.copy(), common, dialect="duckdb")
