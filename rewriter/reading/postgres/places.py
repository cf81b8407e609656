"""Places in arrays as PostgreSQL counts them, for a canonical dialect that counts otherwise. Pure.

a[-1]      nothing, where DuckDB takes the last element
a[n:m]     from the first element at the earliest, and none where m is below it
j['a']     of JSON what lies there, on PostgreSQL as well
a[1:2][2]  of each dimension a part, a[1:2][1:2], where DuckDB takes one of the part
"""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from journal.sql.builders import call, fill, variable
from rewriter.reading.postgres.json.json import step_into
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import KIND, ValueTypes

_FROM_FIRST = "CASE WHEN n < 1 THEN 1 ELSE n END"
_NOT_BEHIND = "CASE WHEN n < 0 THEN 0 ELSE n END"


def spell_place(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """An element or a part of an array; None for constant places, and for other subscripts."""
    dimensions = _dimensions(node)
    if len(dimensions) > 1 and any(isinstance(place, exp.Slice) for _, place in dimensions):
        return _cut(node, dimensions, types)
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if _is_number(place) and types.of(node.this).kind == "JSON":
        value = exp.cast(node.this.copy(), "JSON", dialect="duckdb")
        found = step_into(value, _number(node, place))
        found.meta[KIND] = "JSON"
        return found
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


def native_place(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The same on PostgreSQL, and ``j['a']`` of JSON, whose columns there have no subscripts."""
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if place is None or isinstance(place, exp.Slice) or types.of(node.this).kind != "JSON":
        return spell_place(node, types)
    if _is_number(place):
        place = exp.Literal.string(_number(node, place))
    value = exp.cast(node.this.copy(), "JSONB", dialect="postgres")
    made = call("jsonb_extract_path", value, exp.cast(place.copy(), "TEXT", dialect="postgres"))
    made.meta[KIND] = "JSON"
    return made


def _is_number(place: exp.Expr | None) -> TypeGuard[exp.Literal]:
    return isinstance(place, exp.Literal) and place.is_int


def _number(node: exp.Expr, place: exp.Literal) -> str:
    """The place as the client wrote it; the parser may count from 0 what is counted from 1."""
    return str(int(place.name) + 1 - (node.args.get("offset") or 0))


def _dimensions(node: exp.Expr) -> list[tuple[exp.Bracket, exp.Expr]]:
    """The subscripts of an array from the first on; none for one that has others behind it."""
    found: list[tuple[exp.Bracket, exp.Expr]] = []
    is_last = not (isinstance(node.parent, exp.Bracket) and node.arg_key == "this")
    while is_last and isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        found.insert(0, (node, node.expressions[0]))
        node = node.this
    return found


def _cut(
    node: exp.Expr, dimensions: list[tuple[exp.Bracket, exp.Expr]], types: ValueTypes
) -> exp.Expr | None:
    """A part of an array of several dimensions; raises NOT_SUPPORTED on PostgreSQL stores."""
    held = dimensions[0][0].this
    if not _is_array(held, types):
        return None
    if types.context.capabilities.postgres_functions:
        raise not_here(node, "a part of an array in several dimensions", "take unnest(a) apart")
    made: exp.Expr | None = None
    for bracket, place in reversed(dimensions):
        element = variable("e") if bracket is not dimensions[0][0] else held
        low, high = exp.Literal.number(1), place
        if isinstance(place, exp.Slice):
            low, high = place.this or low, place.expression or fill("len(a)", a=element)
        elif isinstance(place, exp.Literal) and bracket.args.get("offset") is None:
            high = exp.Literal.number(int(place.name) + 1)
        bounds = {"l": fill("greatest(n, 1)", n=low), "h": fill("greatest(n, 0)", n=high)}
        part = fill("list_slice(a, l, h)", a=exp.paren(element.copy()), **bounds)
        if made is not None:
            each = "list_transform(p, LAMBDA e: m)"
            part = fill(f"list_filter({each}, LAMBDA e: len(e) > 0)", p=part, m=made)
        made = part
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
