"""PostgreSQL's functions of JSON in DuckDB's SQL, for stores that lack them; its jsonb. Pure.

``json`` and ``jsonb`` are one type there. Objects keep the order of their keys and the spaces
between them, as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.sql.array_text import array_of_text, parse_array
from journal.sql.builders import call, fill, variable
from journal.sql.relations import ident
from rewriter.functions import function_name
from rewriter.reading.postgres.aggregates import sorted_values
from rewriter.reading.postgres.calls import Spell
from rewriter.reading.postgres.json.json_kinds import guarded
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.postgres.rows import row_values
from rewriter.reading.value_types import ValueTypes

_TYPE = (
    "CASE json_type(CAST(j AS JSON)) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array'"
    " WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null'"
    " WHEN json_type(CAST(j AS JSON)) THEN 'number' END"
)
_HAS_KEY = (
    "CASE json_type(CAST(j AS JSON))"
    " WHEN 'OBJECT' THEN list_contains(json_keys(CAST(j AS JSON)), k)"
    " WHEN 'ARRAY' THEN COALESCE(list_contains(CAST(CAST(j AS JSON) AS JSON[]), to_json(k)), FALSE)"
    " WHEN 'VARCHAR' THEN json_extract_string(CAST(j AS JSON), '$') = k"
    " ELSE CASE WHEN j IS NOT NULL THEN FALSE END END"
)
_TEXTS = exp.DataType.build("VARCHAR[]", dialect="duckdb")
_ANY_OF_NONE = "CASE WHEN j IS NOT NULL THEN FALSE END"
_ALL_OF_NONE = "CASE WHEN j IS NOT NULL THEN TRUE END"
_RENAMED = {
    "build_array": "json_array",
    "pretty": "json_pretty",
    "strip_nulls": "json_strip_nulls",
}


def _renamed(name: str) -> Spell:
    def spell(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        return call(name, *arguments)

    return spell


def _one(sql: str) -> Spell:
    """A piece of SQL about one value."""

    def spell(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        return fill(sql, j=arguments[0]) if len(arguments) == 1 else None

    return spell


def _of_kind(sql: str) -> Spell:
    """A piece of SQL about one value ``v`` of the kind that the function takes."""

    def spell(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 1:
            return None
        return fill(sql, v=guarded(arguments[0], node))

    return spell


def _aggregate(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``json_agg(x ORDER BY y)`` with its FILTER and OVER: the list of all, as JSON."""
    if len(arguments) != 1:
        return None
    given = arguments[0].copy()
    given = sorted_values(given) if isinstance(given, exp.Distinct) else given
    whole, made = node, exp.ArrayAgg(this=given, nulls_excluded=False)
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    if whole is node:
        return call("to_json", made)
    node.replace(made)
    whole.replace(call("to_json", whole))
    return None


_MEMBER = (
    "COALESCE(CAST(to_json(CAST(k AS VARCHAR)) AS VARCHAR), chr(1)) || ':' || COALESCE(v, 'null')"
)
_OBJECT = (
    "CASE WHEN contains(x, chr(1)) THEN CAST(error('field name must not be null') AS JSON)"
    " ELSE CAST('{' || x || '}' AS JSON) END"
)
"""A NULL for a key fails behind the FILTER, which often leaves it out; no JSON holds a chr(1)."""


def _object_aggregate(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``jsonb_object_agg(k, v ORDER BY o)`` with its FILTER and OVER: the texts of all, joined."""
    if len(arguments) != 2:
        return None
    key, value = arguments
    order = value.copy() if isinstance(value, exp.Order) else None
    value = value.this if isinstance(value, exp.Order) else value
    text = fill("CAST(to_json(v) AS VARCHAR)", v=value)
    member: exp.Expr = fill(_MEMBER, k=key, v=text)
    if order is not None:
        order.set("this", member)
        member = order
    made: exp.Expr = exp.GroupConcat(this=member, separator=exp.Literal.string(","))
    whole = node
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    if whole is node:
        return fill(_OBJECT, x=made)
    node.replace(made)
    whole.replace(fill(_OBJECT, x=whole))
    return None


def _of_row(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``row_to_json(row(a, b))``: the values of a row that is written out are f1, f2 and so on."""
    values = row_values(arguments[0]) if len(arguments) == 1 else ()
    if not values:
        return call("to_json", *arguments) if function_name(node) == "to_jsonb" else None
    parts = [part for n, v in enumerate(values, 1) for part in (exp.Literal.string(f"f{n}"), v)]
    return call("json_object", *parts)


def _of_array(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    return call("to_json", *arguments) if len(arguments) == 1 else None


_BY_PATH = (exp.JSONBExtract, exp.JSONBExtractScalar)
_POINTER = (
    "array_to_string(list_transform(CAST(p AS VARCHAR[]), LAMBDA e:"
    " '/' || replace(replace(e, '~', '~0'), '/', '~1')), '')"
)
"""A path that is known when the statement runs as a JSON pointer, whose numbers are places, too."""


def _at_path(is_text: bool) -> Spell:
    """``j #> '{a,0}'`` and ``json_extract_path(j, 'a', '0')``: a number is a place or a key."""

    def spell(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if isinstance(node, _BY_PATH) and isinstance(_bare(arguments[1]), exp.Placeholder):
            return _at_pointer(*arguments, is_text=is_text)
        if len(arguments) == 2 and arguments[1].is_string and arguments[1].name[:1] == "{":
            steps = path_steps(arguments[1].name)
        elif any(isinstance(argument, exp.Null) for argument in _listed(arguments[1:])):
            return exp.cast(exp.null(), "VARCHAR" if is_text else "JSON", dialect="duckdb")
        elif all(_is_step(argument) for argument in _listed(arguments[1:])):
            steps = [_bare(argument).name for argument in _listed(arguments[1:])]
        elif isinstance(node, _BY_PATH):
            is_list = not arguments[1].is_string
            return _at_pointer(*arguments, is_text=is_text) if is_list else None
        else:
            texts = [exp.cast(step.copy(), "VARCHAR", dialect="duckdb") for step in arguments[1:]]
            return _at_pointer(arguments[0], exp.Array(expressions=texts), is_text=is_text)
        if steps is None:
            return None
        found = fill("CAST(j AS JSON)", j=arguments[0])
        for step in steps:
            found = step_into(found, step)
        return fill("json_extract_string(j, '$')", j=found) if is_text else found

    return spell


def _at_pointer(value: exp.Expr, path: exp.Expr, *, is_text: bool) -> exp.Expr:
    """What stands at a path of texts that are known when the statement runs."""
    extract = "json_extract_string" if is_text else "json_extract"
    return fill(f"{extract}(CAST(j AS JSON), {_POINTER})", j=value, p=path)


def _listed(given: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """The steps that are given one by one, or as the elements of an array."""
    array = given[0].unnest() if len(given) == 1 else None
    while isinstance(array, exp.Cast):
        array = array.this
    return array.expressions if isinstance(array, exp.Array) else given


def _bare(step: exp.Expr) -> exp.Expr:
    """What is cast to a text."""
    return step.this if isinstance(step, exp.Cast) else step


def _is_step(argument: exp.Expr) -> bool:
    """True for a constant of a path: ``'a'``, ``0::text``."""
    bare = _bare(argument)
    return bare.is_string or (isinstance(argument, exp.Cast) and bare.is_int)


def key_path(key: str) -> str:
    """The path of a key for DuckDB, which takes an empty one and a star by a pointer alone."""
    if key in {"", "*"}:
        return f"/{key}"
    return '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def step_into(value: exp.Expr, step: str) -> exp.Expr:
    """What lies in a value under a key, or at a place; NULL for nothing."""
    by_key = fill("json_extract(j, p)", j=value, p=exp.Literal.string(key_path(step)))
    if not step.lstrip("-").isdigit():
        return by_key
    at = exp.Literal.string(f"$[#{step}]" if step.startswith("-") else f"$[{step}]")
    by_place = fill("json_extract(j, p)", j=value, p=at)
    return exp.Coalesce(this=by_place, expressions=[by_key])


def path_steps(path: str) -> list[str] | None:
    """The steps of a path such as ``{a,0}``; None for a text that is none."""
    try:
        found = parse_array(path, str)
    except (ValueError, PalimpsestError):
        return None
    return found if all(isinstance(step, str) for step in found) else None


def _has_key(_: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``j ? 'a'``: a key of an object, a text in an array, or the text itself."""
    if len(arguments) != 2:
        return None
    key = arguments[1]
    if isinstance(key, exp.JSONPath):
        # What the parser has made of the text.
        names = [part.this for part in key.expressions if isinstance(part, exp.JSONPathKey)]
        if len(names) != 1:
            return None
        key = exp.Literal.string(names[0])
    return exp.Paren(this=fill(_HAS_KEY, j=arguments[0], k=key))


_ANY_KEY = "CASE WHEN j IS NOT NULL THEN len(list_filter(a, LAMBDA e: has)) > 0 END"
_ALL_KEYS = (
    "CASE WHEN j IS NOT NULL THEN len(list_filter(a, LAMBDA e: e IS NOT NULL AND NOT has)) = 0 END"
)


def _has_keys(kind: type[exp.Connector]) -> Spell:
    """``j ?| ARRAY['a', 'b']`` and ``j ?& ..``."""

    def spell(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 2:
            return None
        listed = arguments[1]
        if listed.is_string:
            listed = array_of_text(listed.name, _TEXTS)
        keys = listed.this if isinstance(listed, exp.Cast) else listed
        if not isinstance(keys, exp.Array):
            has = _has_key(node, (arguments[0], variable("e")))
            sql = _ANY_KEY if kind is exp.Or else _ALL_KEYS
            return fill(sql, j=arguments[0], a=listed, has=has)
        given = [key for key in keys.expressions if not isinstance(key, exp.Null)]
        each = [_has_key(node, (arguments[0], key)) for key in given]
        found = [one for one in each if one is not None]
        if not found:
            return fill(_ANY_OF_NONE if kind is exp.Or else _ALL_OF_NONE, j=arguments[0])
        return exp.Paren(this=(exp.or_ if kind is exp.Or else exp.and_)(*found, copy=False))

    return spell


JSONB_OPERATORS = (
    *(exp.JSONBContainsTopKey, exp.JSONBContainsAnyTopKeys, exp.JSONBContainsAllTopKeys),
    *(exp.JSONBExists, exp.ArrayContainsAll, exp.ArrayContainedBy, exp.DPipe, exp.Sub),
    exp.JSONBDeleteAtPath,
)
"""Operators that PostgreSQL has for jsonb alone, or for other types as well."""


def cast_to_jsonb(node: exp.Expr, types: ValueTypes) -> None:
    """Cast what such an operator, or a function of jsonb, takes from a column, which is json."""
    if isinstance(node, exp.Anonymous):
        sides = node.expressions[:1] if node.name.lower().startswith("jsonb_") else []
    else:
        sides = [side for side in (node.this, node.expression) if side is not None]
    if any(_is_json(side, types) for side in sides):
        for side in sides:
            if _is_json(side, types) or (side.is_string and isinstance(node, _OF_TWO)):
                side.replace(native_jsonb(side))


def native_jsonb(value: exp.Expr) -> exp.Expr:
    """JSON as jsonb of PostgreSQL, by a name that definitions keep, where ``jsonb`` is JSON."""
    return call("to_jsonb", exp.cast(value.copy(), "JSON", dialect="duckdb"))


def _is_json(side: exp.Expr, types: ValueTypes) -> bool:
    """True for a column of json, and for what ``->`` takes out of one."""
    while isinstance(side, exp.Paren) or type(side) is exp.JSONExtract:
        side = side.this
    return types.of(side).kind == "JSON"


_PAIRS = (
    "unnest(list_transform(json_keys(v), LAMBDA k: {'key': k, 'value':"
    " extract(CAST(j AS JSON), '/' || replace(replace(k, '~', '~0'), '/', '~1'))}))"
)
_PAIR_CALLS = ("each", "each_text")


def _pairs(extract: str) -> Spell:
    """``json_each``, of which an output takes the key or the value; raises NOT_SUPPORTED for the
    pair itself.
    """

    def spell(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 1:
            return None
        if not isinstance(node.parent, exp.Paren) or not isinstance(node.parent.parent, exp.Dot):
            advice = "call it in FROM, or take its .key and .value"
            raise not_here(node, "the row that this function gives", advice)
        value = guarded(arguments[0], node)
        return fill(_PAIRS.replace("extract", extract), j=arguments[0], v=value)

    return spell


def name_pairs(select: exp.Expr) -> None:
    """Put both of a pair in the place of ``(jsonb_each(j)).*``, in an output of SELECT."""
    for output in list(select.expressions):
        if makes_pairs(output):
            pair = output.this
            output.replace([exp.Dot(this=pair.copy(), expression=ident(n)) for n in _PAIR_NAMES])


def makes_pairs(output: exp.Expr) -> bool:
    """True for ``(jsonb_each(j)).*``."""
    is_all = isinstance(output, exp.Dot) and isinstance(output.expression, exp.Star)
    called = output.this.unnest() if is_all and isinstance(output.this, exp.Paren) else None
    name = function_name(called) if isinstance(called, exp.Anonymous) else ""
    return name.partition("_")[2] in _PAIR_CALLS and name.partition("_")[0] in {"json", "jsonb"}


_PAIR_NAMES = ("key", "value")
_OF_TWO = (exp.ArrayContainsAll, exp.ArrayContainedBy, exp.DPipe)
"""Operators of which both sides are jsonb."""
_BY_VERB: Mapping[str, Spell] = {
    **{verb: _renamed(name) for verb, name in _RENAMED.items()},
    "agg": _aggregate,
    "extract_path": _at_path(is_text=False),
    "extract_path_text": _at_path(is_text=True),
    "typeof": _one(_TYPE),
    "each": _pairs("json_extract"),
    "each_text": _pairs("json_extract_string"),
    "array_length": _of_kind("json_array_length(v)"),
    "object_keys": _of_kind("unnest(json_keys(v))"),
    "array_elements": _of_kind(
        "unnest(list_transform(CAST(v AS JSON[]), LAMBDA e: COALESCE(e, CAST('null' AS JSON))))"
    ),
    "array_elements_text": _of_kind(
        "unnest(list_transform(CAST(v AS JSON[]), LAMBDA e: json_extract_string(e, '$')))"
    ),
}
CALLS: Mapping[str, Spell] = {
    **{f"{kind}_{verb}": spell for verb, spell in _BY_VERB.items() for kind in ("json", "jsonb")},
    **dict.fromkeys(("to_json", "to_jsonb", "row_to_json"), _of_row),
    "array_to_json": _of_array,
    "jsonb_exists_any": _has_keys(exp.Or),
    "jsonb_exists_all": _has_keys(exp.And),
}
KINDS: Mapping[type[exp.Expr], Spell] = {
    exp.JSONArrayAgg: _aggregate,
    **dict.fromkeys((exp.JSONObjectAgg, exp.JSONBObjectAgg), _object_aggregate),
    **dict.fromkeys((exp.JSONBContainsTopKey, exp.JSONBExists), _has_key),
    exp.JSONBContainsAnyTopKeys: _has_keys(exp.Or),
    exp.JSONBContainsAllTopKeys: _has_keys(exp.And),
    exp.JSONBExtract: _at_path(is_text=False),
    exp.JSONBExtractScalar: _at_path(is_text=True),
}
