"""Comparisons with ANY and ALL of a list in PostgreSQL's meaning, for stores of another one. Pure.

x = ANY (l)    of a list that is NULL: unknown, where DuckDB says false
d = ANY (?)    of moments: clients send them as texts, which DuckDB compares with none in a list
x = ANY (ARRAY(SELECT ..))     the rows themselves, with which DuckDB compares no list
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.postgres.patterns import quantified
from rewriter.reading.value_types import ValueTypes

_FILTERING = (exp.Where, exp.Having, exp.Join, exp.Qualify)
_MOMENTS = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"})


def spell_quantified(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """A comparison with elements; where only what is true counts, ANY needs no more."""
    found = quantified(node)
    if found is None:
        return None
    array, is_all = found
    rows = array.expressions[0] if isinstance(array, exp.Array) and array.expressions else None
    if isinstance(rows, exp.Select | exp.SetOperation):
        made = node.copy()
        of = exp.All if is_all else exp.Any
        made.set("expression", of(this=exp.Subquery(this=rows.copy())))
        return made
    kind = types.of(node.this).kind or ""
    made = node
    if isinstance(array, exp.Placeholder) and kind.partition(" ")[0] in _MOMENTS:
        array = exp.cast(array.copy(), f"{kind}[]", dialect="duckdb")
        made = node.copy()
        right = made.expression
        if isinstance(right, exp.Anonymous):
            right.set("expressions", [array.copy()])
        else:
            right.set("this", array.copy())
    if isinstance(array, exp.Array | exp.Tuple) or (not is_all and _only_selects(node)):
        return None if made is node else made
    return fill("CASE WHEN l IS NOT NULL THEN made END", l=array, made=made)


def _only_selects(node: exp.Expr) -> bool:
    """True for a condition whose being false and being unknown mean the same."""
    while isinstance(node.parent, exp.And | exp.Or | exp.Paren):
        node = node.parent
    return isinstance(node.parent, _FILTERING)
