"""Types that an output says itself, where a store has but one type for several of PostgreSQL's.

x::json, json_agg(x)    json, whose values the store keeps as those of jsonb
x::oid                  oid, and not a number of eight bytes
x::mood                 the enum, and not a text
$1                      the type that the client sends with the value
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from gateway.servers.pgwire import types
from gateway.servers.pgwire.messages import Field
from journal.model.plan import USER_PARAMETER
from rewriter.syntax.postgres_names import postgres_name

EnumNumber = Callable[[str], int | None]
"""The number of an enum by its name, None for what is none."""
_JSON_CALLS = frozenset({
    *("to_json", "row_to_json", "array_to_json", "json_agg", "json_object_agg", "json_object"),
    *("json_build_object", "json_build_array", "json_strip_nulls", "json_extract_path"),
    *("json_array_elements",),
})  # fmt: skip
_SENT_AS_TEXT = (types.OTHER_TEXT | {types.JSON.oid}) - {0, 705}
"""Types of parameters whose values are sent as those of text are."""
_WHOLE = frozenset({types.INT2.oid, types.INT4.oid, types.INT8.oid})


def outputs_of(ast: exp.Expr, width: int) -> Sequence[exp.Expr]:
    """The values of a SELECT's columns; none where they are not told one by one."""
    outputs = ast.expressions if isinstance(ast, exp.Select) else []
    if len(outputs) != width or any(output.is_star for output in outputs):
        return ()
    return [output.unalias().unnest() for output in outputs]


def as_spelled(
    fields: Sequence[Field], ast: exp.Expr, given: Sequence[int], enum_number: EnumNumber
) -> list[Field]:
    """The columns of a query with these types; ``given`` are those of parameters by place."""
    values = outputs_of(ast, len(fields))
    if not values:
        return list(fields)
    oids = {f"{USER_PARAMETER}{place}": oid for place, oid in enumerate(given)}
    return [_of_value(f, v, oids, enum_number) for f, v in zip(fields, values, strict=True)]


def _of_value(
    field: Field, value: exp.Expr, oids: dict[str, int], enum_number: EnumNumber
) -> Field:
    if field.oid == types.JSONB.oid:
        return replace(field, oid=types.JSON.oid) if _is_json(value) else field
    if field.oid in _WHOLE and _is_oid(value, oids):
        return replace(field, oid=types.OID.oid, size=types.OID.size)
    if field.oid != types.TEXT.oid:
        return field
    if isinstance(value, exp.Placeholder) and oids.get(value.name) in _SENT_AS_TEXT:
        return replace(field, oid=oids[value.name])
    if isinstance(value, exp.Cast) and value.to.this is exp.DType.USERDEFINED:
        number = enum_number(value.to.sql("postgres"))
        return field if number is None else replace(field, oid=number, size=types.ENUM_SIZE)
    return field


def _is_json(value: exp.Expr) -> bool:
    if isinstance(value, exp.Cast):
        return bool(value.is_type(exp.DType.JSON))
    return isinstance(value, exp.Func) and postgres_name(value) in _JSON_CALLS


def _is_oid(value: exp.Expr, oids: dict[str, int]) -> bool:
    if not isinstance(value, exp.Cast):
        return False
    given = oids.get(value.this.name) if isinstance(value.this, exp.Placeholder) else None
    is_number = value.is_type(exp.DType.BIGINT) and given == types.OID.oid
    return is_number or value.to.sql("postgres").upper() == "OID"
