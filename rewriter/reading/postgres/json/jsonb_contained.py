"""``j @> k`` of jsonb where k is computed, in DuckDB's SQL. Pure.

An object contains another if it has its keys, and under each a value that contains the other's; an
array if some element of it contains each of the other's elements; an array also contains a number,
a text or a truth that is an element of it. A constant k is looked for by what it consists of, and
may be of any depth.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.reading.postgres.json.jsonb_forms import key_of
from rewriter.reading.value_types import ValueTypes

_DEPTH_MAX = 3
"""Objects and arrays in one another: a store plans twice as long for each."""
_IS_DEEP = "json_type({part}) IN ('OBJECT', 'ARRAY')"
_IS_SAME = (
    f"NOT {_IS_DEEP.format(part='{whole}')}"
    " AND json_normalize({whole}) = json_normalize({part})"
)
_TOO_DEEP = (
    f"CASE WHEN {_IS_DEEP} THEN CAST(error('@> of jsonb looks for a computed value of at most"
    f" {_DEPTH_MAX} objects or arrays in one another') AS BOOLEAN) ELSE {_IS_SAME} END"
)
_AT_KEY = "'$.\"' || replace(replace(_key, '\\', '\\\\'), '\"', '\\\"') || '\"'"
_ELEMENTS = "CAST(json_extract({}, '$[*]') AS JSON[])"
"""A list also of what is known to be NULL."""
_ITEMS = (
    "CASE json_type({part}) WHEN 'OBJECT' THEN list_transform(json_keys({part}), LAMBDA _key:"
    f" struct_pack(needle := json_extract({{part}}, {_AT_KEY}), among :="
    " CASE WHEN json_type({whole}) = 'OBJECT' AND list_contains(json_keys({whole}), _key)"
    f" THEN [json_extract({{whole}}, {_AT_KEY})] ELSE [] END))"
    f" WHEN 'ARRAY' THEN list_transform({_ELEMENTS.format('{part}')}, LAMBDA _element:"
    f" struct_pack(needle := _element, among := {_ELEMENTS.format('{whole}')})) END"
)
"""The parts of a value, each with what may contain it."""
_IN_TURN = (
    f"CASE WHEN {_IS_DEEP} THEN json_type({{whole}}) = json_type({{part}}) AND"
    " len(list_filter({items}, LAMBDA _sought{depth}:"
    " len(list_filter(struct_extract(_sought{depth}, 'among'),"
    f" LAMBDA _found{{depth}}: {{inner}})) = 0)) = 0 ELSE {_IS_SAME} END"
)
_ANYWHERE = (
    "CASE WHEN a IS NULL OR b IS NULL THEN NULL"
    " WHEN json_type(a) = 'ARRAY' AND json_type(b) NOT IN ('OBJECT', 'ARRAY')"
    f" THEN len(list_filter({_ELEMENTS.format('a')}, LAMBDA _item:"
    " json_normalize(_item) = json_normalize(b))) > 0 ELSE {found} END"
)


def contains_computed(whole: exp.Expr, part: exp.Expr, types: ValueTypes) -> exp.Expr:
    """A condition that says whether a value contains another; NULL if one of them is."""
    holder = exp.paren(_template().copy())
    sides = {"a": whole, "b": part}
    for place in [c for c in holder.find_all(exp.Column) if c.name in sides]:
        place.replace(fill("CAST(k AS JSON)", k=key_of(sides[place.name], types)))
    return holder


@cache
def _template() -> exp.Expr:
    found = fill(_ANYWHERE.format(found=_contains("a", "b", _DEPTH_MAX)))
    for node in list(found.find_all(exp.JSONExtract)):
        # Beside lambdas an arrow would be taken for one of them.
        node.replace(call("json_extract", node.this, node.expression))
    return found


def _contains(whole: str, part: str, depth: int) -> str:
    if depth == 0:
        return _TOO_DEEP.format(whole=whole, part=part)
    return _IN_TURN.format(
        whole=whole,
        part=part,
        depth=depth,
        items=_ITEMS.format(whole=whole, part=part),
        inner=_contains(f"_found{depth}", f"struct_extract(_sought{depth}, 'needle')", depth - 1),
    )
