"""Functions behind PostgreSQL's operators of jsonb, and some more, for stores that lack them. Pure.

jsonb_contains(a, b), jsonb_concat(a, b), jsonb_delete(a, 'k')      a @> b, a || b, a - 'k'
jsonb_object('{a,1,b,2}'), jsonb_object(keys, values)               an object of texts
jsonb_build_object(1, 2)                                            keys become texts
jsonb_set_lax(j, '{a}', NULL, true, 'delete_key')                   NULL says what becomes of it
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.reading.postgres.json.json_paths import spell_delete, spell_set
from rewriter.reading.postgres.json.jsonb import made_of_jsonb
from rewriter.reading.postgres.operators import is_array_text, read_array
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes

_OPERATORS: dict[str, type[exp.Binary]] = {
    "jsonb_contained": exp.ArrayContainedBy,
    "jsonb_concat": exp.DPipe,
    "jsonb_delete": exp.Sub,
}
NAMES = frozenset(_OPERATORS)
_OBJECT = "CAST(to_json(map(k, v)) AS JSON)"
_EVEN = (
    "CASE WHEN len(l) % 2 = 1 THEN error('array must have even number of elements') ELSE"
    " CAST(to_json(map(list_filter(l, LAMBDA e, i: i % 2 = 1), list_filter(l, LAMBDA e, i:"
    " i % 2 = 0))) AS JSON) END"
)
_PAIRS = (
    "CAST(to_json(map(list_transform(l, LAMBDA e: list_extract(e, 1)),"
    " list_transform(l, LAMBDA e: list_extract(e, 2)))) AS JSON)"
)
_TREATMENT = "null_value_treatment"


def spell_operator_call(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """What the operator means of which a function is another name."""
    is_named = isinstance(node, exp.Anonymous)
    left, right = node.expressions if is_named else (node.this, node.expression)
    kind = _OPERATORS[function_name(node)] if is_named else exp.ArrayContainsAll
    as_json = exp.cast(left.copy(), "JSON", dialect="duckdb")
    if kind is exp.ArrayContainedBy or (kind is exp.DPipe and not right.is_string):
        right = exp.cast(right.copy(), "JSON", dialect="duckdb")
    return made_of_jsonb(kind(this=as_json, expression=right.copy()), types)


def spell_object(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_object(a)``, of an array or its text, and ``jsonb_object(keys, values)``."""
    lists = [read_array(a, "VARCHAR[]") if is_array_text(a) else a for a in arguments]
    if len(lists) == 2:
        return fill(_OBJECT, k=lists[0], v=lists[1])
    if len(lists) != 1:
        return None
    whole = lists[0]
    array = whole.this if isinstance(whole, exp.Cast) else whole
    if isinstance(array, exp.Array) and not array.expressions:
        return fill("CAST('{}' AS JSON)")
    is_nested = isinstance(array, exp.Array) and any(
        isinstance(item, exp.Array) for item in array.expressions
    )
    return fill(_PAIRS, l=array) if is_nested else fill(_EVEN, l=whole)


def spell_pair(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``json_object(keys, values)`` of arrays, which is read as one of a key and its value."""
    pair = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(pair, exp.JSONKeyValue):
        return None
    sides = (pair.this, pair.expression)
    if isinstance(pair.expression, exp.Null):
        return spell_object(node, [pair.this])
    are_arrays = all(is_array_text(s) or (types.of(s).kind or "").endswith("[]") for s in sides)
    return spell_object(node, sides) if are_arrays else None


def native_object(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``json_object(a)`` for PostgreSQL, which is read as one of a key and NULL."""
    pair = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(pair, exp.JSONKeyValue) and isinstance(pair.expression, exp.Null):
        return exp.Anonymous(this="json_object", expressions=[pair.this.copy()])
    return None


def spell_built(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_build_object(k, v, ..)``, whose keys are texts whatever they are given as."""
    parts = [
        argument if at % 2 or argument.is_string else exp.cast(argument.copy(), "VARCHAR")
        for at, argument in enumerate(arguments)
    ]
    return call("json_object", *parts)


def spell_lax_set(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_set_lax(j, path, value, create, treatment)``; None for a path that is computed."""
    given = list(arguments)
    named = [a for a in given if isinstance(a, exp.Kwarg) and a.this.name == _TREATMENT]
    given = [a for a in given if a not in named]
    treatment = named[0].expression if named else given[4] if len(given) == 5 else None
    how = "use_json_null" if treatment is None else treatment.name.lower()
    target, value = given[0], given[2]
    if how == "use_json_null":
        null = exp.cast(exp.Literal.string("null"), "JSON", dialect="duckdb")
        of_null = spell_set(node, [target, given[1], null, *given[3:4]])
    elif how == "delete_key":
        of_null = spell_delete(node, given[:2])
    elif how == "return_target":
        of_null = exp.cast(target.copy(), "JSON", dialect="duckdb")
    elif how == "raise_exception":
        of_null = fill("CAST(error('JSON value must not be null') AS JSON)")
    else:
        raise not_here(node, f"jsonb_set_lax() with {how}", "take 'use_json_null' or 'delete_key'")
    if of_null is None or isinstance(value, exp.Null):
        return of_null
    made = spell_set(node, [target, given[1], value, *given[3:4]])
    return fill("CASE WHEN v IS NULL THEN n ELSE m END", v=value, n=of_null, m=made)
