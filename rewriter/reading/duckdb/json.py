"""JSON of values, and values of JSON, in DuckDB's dialect on a PostgreSQL store. Pure.

json_object('at', ts, 'n', 1.50)    {"at":"2024-01-01 00:00:00","n":1.5}
1::JSON                             of a value that is no text: as ``to_json``
'1'::JSON::INTEGER                  of its text
(j::JSON).key, (j::JSON)[0]         j -> '$.key', j -> '$[0]'
j -> '/a/0', j -> '$.a[#-1]'        its steps
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from journal.sql.builders import call
from rewriter.functions import function_name
from rewriter.reading.duckdb.casts import text_of
from rewriter.reading.duckdb.types import FLOATS, TEXTS, WHOLE, DuckDBTypes
from rewriter.reading.value_types import KIND

_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()
_AS_TEXTS = ("DATE", "TIME", "INTERVAL", "BLOB", "UUID")
_LISTED = frozenset({*WHOLE, *TEXTS, "INT", "BOOLEAN"})
_WHOLE_TYPES = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})


def spell_json_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A cast to JSON or of JSON that PostgreSQL lacks."""
    if node.is_type(exp.DType.JSON):
        return _to_json(node, types)
    return _of_json(node, types)


def _to_json(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A value as JSON, by a cast; None where it is not told to be one that is no text."""
    value = node.this
    kind = types.kind_of(value) or ""
    is_list = kind.endswith("[]") and kind.removesuffix("[]") in _LISTED
    is_one = kind in {*WHOLE, *FLOATS, "DECIMAL", "BOOLEAN"} or kind.startswith(_AS_TEXTS)
    return call("json_of", json_part(value, types)) if is_list or is_one else None


def _of_json(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A number, truth, moment or the like that JSON is, by a cast."""
    assert isinstance(node, exp.Cast)
    value, to = node.this, node.to
    if types.kind_of(value) != "JSON" or to.this in {
        exp.DType.JSON,
        *exp.DataType.TEXT_TYPES,
        exp.DType.ARRAY,
    }:
        return None
    text = call("json_scalar", exp.cast(value.copy(), "JSON"))
    number = exp.cast(text, "BIGNUM") if to.this in _WHOLE_TYPES else text
    return exp.Cast(this=number, to=to.copy())


def json_part(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """A value whose JSON PostgreSQL writes as DuckDB writes that of the one that is given."""
    kind = types.kind_of(value) or ""
    if kind.startswith(_AS_TEXTS) and not kind.endswith("]"):
        return exp.cast(text_of(value, types).copy(), "VARCHAR")
    if kind not in {*FLOATS, "DECIMAL"}:
        return value.copy()
    return exp.cast(call("shown", exp.cast(value.copy(), "DOUBLE")), "JSON")


def spell_json_call(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``to_json``, ``json_object`` and its like of values that PostgreSQL writes otherwise."""
    if function_name(node) in {"to_json", "json_quote"} and len(node.expressions) == 1:
        return call("json_of", json_part(node.expressions[0], types))
    made = node.copy()
    for old, new in zip(node.expressions, made.expressions, strict=True):
        if isinstance(old, exp.JSONKeyValue):
            old, new = old.expression, new.expression
        part = json_part(old, types)
        if part != old:
            new.replace(part)
    return None if made == node else made


MADE = frozenset("to_json json_quote json_group_array json_group_object".split())
"""Calls that make JSON, of which sqlglot knows no class."""


def spell_dense(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """``json(..)``, which takes the blanks out; a literal is as it is written."""
    if node.args.get("is_literal"):
        return None
    return call("json_dense", exp.cast(node.this.copy(), "JSON"))


def spell_json_step(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``j.key``, ``j['key']`` and ``j[0]`` of a value that is told to be JSON."""
    if types.kind_of(node.this) != "JSON":
        return None
    if isinstance(node, exp.Dot):
        path = _key(node.name) if isinstance(node.expression, exp.Identifier) else None
    else:
        assert isinstance(node, exp.Bracket)
        path = _place(node)
    if path is None:
        return None
    made = call("json_at", exp.cast(node.this.copy(), "JSON"), exp.Literal.string(path))
    made.meta[KIND] = "JSON"
    return made


def _key(name: str) -> str | None:
    return None if '"' in name or name.isdigit() else f'$."{name}"'


def _place(node: exp.Bracket) -> str | None:
    (place,) = node.expressions if len(node.expressions) == 1 else (None,)
    if isinstance(place, exp.Literal) and place.is_string:
        return _key(place.name)
    if not isinstance(place, exp.Literal):
        return None
    # What sqlglot has taken from the number, which counts from 1 to it, is in it again.
    (number,) = _GENERATOR.bracket_offset_expressions(node)
    return f"$[{number.name}]" if isinstance(number, exp.Literal) else None


def spell_json_path(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A place in JSON that is written as a pointer, ``/a/0``, or counted from the end."""
    place = node.expression
    steps = _steps(place.name) if isinstance(place, exp.Literal) and place.is_string else None
    if steps is None:
        return None
    listed = exp.Array(expressions=[exp.Literal.string(step) for step in steps])
    path = exp.cast(listed, "VARCHAR[]", dialect="duckdb")
    made = call("json_steps_at", exp.cast(node.this.copy(), "JSON"), path)
    is_text = isinstance(node, exp.JSONExtractScalar)
    made = call("json_scalar", made) if is_text else made
    made.meta[KIND] = "VARCHAR" if is_text else "JSON"
    return made


def _steps(path: str) -> list[str] | None:
    """The keys and places of a pointer, or of a path with places from the end; else None."""
    if path.startswith("/"):
        return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
    if not _FROM_END.search(path) or not _PATH.fullmatch(path):
        return None
    return ["".join(filter(None, found.groups())) for found in _STEP.finditer(path)]


_FROM_END = re.compile(r"\[#?-")
_STEP = re.compile(r"\.(?:(\w+)|\"([^\"\\]*)\")|\[#?(-?0*[1-9]\d*|0+)\]")
_PATH = re.compile(rf"\$(?:{_STEP.pattern})*")
