"""Places in arrays as PostgreSQL counts them, for a canonical dialect that counts otherwise. Pure.

a[-1]      nothing, where DuckDB takes the last element
a[n:m]     from the first element at the earliest, and none where m is below it
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.value_types import ValueTypes

_FROM_FIRST = "CASE WHEN n < 1 THEN 1 ELSE n END"
_NOT_BEHIND = "CASE WHEN n < 0 THEN 0 ELSE n END"


def spell_place(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """An element or a part of an array; None for constant places, and for other subscripts."""
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if place is None or isinstance(place, exp.Literal) or not _is_array(node.this, types):
        return None
    made = node.copy()
    if not isinstance(place, exp.Slice):
        made.set("expressions", [fill("greatest(n, 0)", n=place)])
        return made
    bounds = {"this": _FROM_FIRST, "expression": _NOT_BEHIND}
    changed = {name: _bounded(place.args.get(name), sql) for name, sql in bounds.items()}
    if not any(changed.values()):
        return None
    for name, bound in changed.items():
        if bound is not None:
            made.expressions[0].set(name, bound)
    return made


def _is_array(held: exp.Expr, types: ValueTypes) -> bool:
    return (types.of(held).kind or "").endswith("[]")


def _bounded(bound: exp.Expr | None, sql: str) -> exp.Expr | None:
    """A bound that is no constant, or below the array; None for what is as it should be."""
    if bound is None or isinstance(bound, exp.Literal):
        return None
    if isinstance(bound, exp.Neg) and isinstance(bound.this, exp.Literal):
        return exp.Literal.number(1 if sql == _FROM_FIRST else 0)
    return fill(sql, n=exp.paren(bound))
