"""PostgreSQL's operators of jsonb in DuckDB's SQL, for stores that lack them. Pure.

j || k           two objects: the keys of both; otherwise one array of both
j - 'key'        an object without a key, an array without a text; so of ARRAY['a', 'b']
j - 2            an array without an element, counted from 0, or from the end
j @> k           whether a value is contained; ``<@`` the other way round
"""

from __future__ import annotations

import json
from decimal import Decimal

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill, variable
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.json.json import key_path
from rewriter.reading.postgres.json.jsonb_contained import contains_computed
from rewriter.reading.postgres.json.jsonb_forms import no_json
from rewriter.reading.value_types import ValueTypes

KINDS = (exp.DPipe, exp.Sub, exp.ArrayContainsAll, exp.ArrayContainedBy)
Constant = dict[str, "Constant"] | list["Constant"] | str | bool | Decimal | None

_KEYS = "TRY_CAST(j AS MAP(VARCHAR, JSON))"
_ITEMS = "TRY_CAST(j AS JSON[])"
_AS_ITEMS = f"CASE WHEN json_type(j) = 'ARRAY' THEN {_ITEMS} ELSE [j] END"
_JOINED = (
    "CAST(CASE WHEN l IS NULL OR r IS NULL THEN NULL"
    " WHEN json_type(l) = 'OBJECT' AND json_type(r) = 'OBJECT'"
    " THEN to_json(map_concat(left_keys, right_keys))"
    " ELSE to_json(list_concat(left_items, right_items)) END AS JSON)"
)
_WITHOUT_KEYS = (
    "CAST(CASE json_type(j) WHEN 'OBJECT' THEN to_json(map_from_entries(list_filter("
    f"map_entries({_KEYS}), LAMBDA e: NOT list_contains(k, e.key))))"
    f" WHEN 'ARRAY' THEN to_json(list_filter({_ITEMS}, LAMBDA e:"
    " NOT COALESCE(json_type(e) = 'VARCHAR' AND"
    " list_contains(k, json_extract_string(e, '$')), FALSE)))"
    " WHEN json_type(j) THEN CAST(error('a scalar has no keys') AS JSON) END AS JSON)"
)
_WITHOUT_PLACE = (
    "CAST(CASE json_type(j) WHEN 'ARRAY' THEN to_json(list_filter("
    f"{_ITEMS}, LAMBDA e, i: i <> CASE WHEN n < 0 THEN len({_ITEMS}) + n + 1 ELSE n + 1 END))"
    " WHEN json_type(j) THEN CAST(error('only an array has an element of that number') AS JSON)"
    " END AS JSON)"
)
_OPERATOR: dict[type[exp.Expr], str] = {exp.ArrayContainsAll: "@>", exp.ArrayContainedBy: "<@"}


def concerns_jsonb(node: exp.Expr, types: ValueTypes) -> bool:
    """True for an operator with jsonb on a side that tells its meaning."""
    if isinstance(node, exp.Sub):
        return types.of(node.this).kind == "JSON"
    kinds = [types.of(side).kind for side in (node.this, node.expression)]
    if "JSON" not in kinds:
        return False
    if not isinstance(node, exp.DPipe) or kinds[0] == kinds[1]:
        return True
    return any(side.is_string or isinstance(side, _VALUES) for side in (node.this, node.expression))


_VALUES = (exp.Placeholder, exp.Parameter)


def spell_jsonb(node: exp.Expr, types: ValueTypes) -> None:
    """Put what means the same in the place of such an operator.

    Raises NOT_SUPPORTED where the store looks for constants alone.
    """
    node.replace(made_of_jsonb(node, types))


def made_of_jsonb(node: exp.Expr, types: ValueTypes) -> exp.Expr:
    """What means the same as such an operator; raises NOT_SUPPORTED likewise."""
    if isinstance(node, exp.DPipe):
        return _joined(_json(node.this), _json(node.expression))
    if isinstance(node, exp.Sub):
        return _without(node, types)
    contains = isinstance(node, exp.ArrayContainsAll)
    whole, part = (node.this, node.expression)[:: 1 if contains else -1]
    value = _json(whole)
    if types.context.capabilities.normalizes_json and not _text_in(part).is_string:
        return contains_computed(value, part, types)
    found = _contains(value, _constant(node, part), is_top=True)
    return fill("CASE WHEN j IS NOT NULL THEN found END", j=value, found=found)


def _json(value: exp.Expr) -> exp.Expr:
    return fill("CAST(j AS JSON)", j=value)


def _joined(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    sides = {"left": left, "right": right}
    parts = {
        f"{name}_{what}": fill(sql, j=side)
        for name, side in sides.items()
        for what, sql in (("keys", _KEYS), ("items", _AS_ITEMS))
    }
    return fill(_JOINED, l=left, r=right, **parts)


def _without(node: exp.Sub, types: ValueTypes) -> exp.Expr:
    value, what = _json(node.this), node.expression
    kind = types.of(what).kind or ""
    is_number = isinstance(what, exp.Neg) or (isinstance(what, exp.Literal) and not what.is_string)
    if is_number or kind == "INTEGER" or kind.endswith("INT"):
        return fill(_WITHOUT_PLACE, j=value, n=what)
    if not (isinstance(what, exp.Array) or "[" in kind):
        what = call("list_value", fill("CAST(t AS VARCHAR)", t=what))
    return fill(_WITHOUT_KEYS, j=value, k=what)


def _text_in(part: exp.Expr) -> exp.Expr:
    """What is cast to JSON."""
    while isinstance(part, exp.Cast | exp.Paren | exp.ParseJSON):
        part = part.this
    return part


def _constant(node: exp.Expr, part: exp.Expr) -> Constant:
    text = _text_in(part)
    if not text.is_string:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{_OPERATOR[type(node)]} of jsonb takes a constant to look for on this store",
            advice="""write it out, as in j @> '{"a": 1}', or compare j -> 'a'""",
            position=position_of(node),
        )
    try:
        return json.loads(text.name, parse_float=Decimal, parse_int=Decimal)  # type: ignore[no-any-return]
    except ValueError as error:
        raise no_json(text) from error


def _contains(
    whole: exp.Expr, part: Constant, *, is_top: bool = False, is_item: bool = False
) -> exp.Expr:
    """A condition that says whether a value contains a constant; NULL without a value.

    ``is_item``: the value is an element of a list, in which a null of JSON is NULL.
    """
    kind = fill("json_type(j)", j=whole)
    if isinstance(part, dict):
        each = [
            fill("COALESCE(found, FALSE)", found=_contains(_at(whole, key), value))
            for key, value in part.items()
        ]
        return exp.and_(fill("t = 'OBJECT'", t=kind), *each, copy=False)
    if isinstance(part, list):
        items = [fill("COALESCE(found, FALSE)", found=_contains_item(whole, item)) for item in part]
        return exp.and_(fill("t = 'ARRAY'", t=kind), *items, copy=False)
    null_type = "COALESCE(json_type(j), 'NULL')" if is_item else "json_type(j)"
    same = fill(f"{null_type} = 'NULL'", j=whole) if part is None else _equals(whole, part)
    if not is_top:
        return same
    among = fill("COALESCE(found, FALSE)", found=_contains_item(whole, part))
    return fill("CASE WHEN t = 'ARRAY' THEN among ELSE same END", t=kind, among=among, same=same)


def _at(whole: exp.Expr, key: str) -> exp.Expr:
    return fill("json_extract(j, p)", j=whole, p=key_path(key))


def _contains_item(whole: exp.Expr, item: Constant) -> exp.Expr:
    name = variable("e")
    found = _contains(name, item, is_item=True)
    return fill(f"len(list_filter({_ITEMS}, LAMBDA e: found)) > 0", j=whole, found=found)


def _equals(value: exp.Expr, part: str | bool | Decimal) -> exp.Expr:
    if isinstance(part, bool):
        return fill("CAST(j AS VARCHAR) = t", j=value, t="true" if part else "false")
    if isinstance(part, str):
        return fill("json_type(j) = 'VARCHAR' AND json_extract_string(j, '$') = t", j=value, t=part)
    if abs(part) >= _EXACT_BELOW:
        return fill("CAST(j AS VARCHAR) = t", j=value, t=str(part))
    return fill(
        "CASE WHEN json_type(j) IN ('BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE')"
        " THEN TRY_CAST(CAST(j AS VARCHAR) AS DOUBLE) = CAST(n AS DOUBLE) ELSE FALSE END",
        j=value,
        n=exp.Literal.string(str(part)),
    )


_EXACT_BELOW = 1 << 53
"""Whole numbers below it are numbers of a DOUBLE, too."""
