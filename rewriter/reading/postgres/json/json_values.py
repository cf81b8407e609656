"""Values that become JSON, as PostgreSQL writes them, for stores that write others. Pure.

to_json(n)                     1.50 of a NUMERIC(9, 2), 1.5 of one without digits, 2 of a DOUBLE
json_agg(t), to_json(i)        a moment with its T, an interval as "1 mon", bytes as "\\xdead"
to_json(c)                     of a CHAR(n) its blanks as well, on every store
row_to_json(t)                 the same of each column; NULL where an outer join found no row
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from sqlglot import exp

from journal.sql.builders import fill, variable
from journal.sql.relations import column, ident
from rewriter.functions import function_name
from rewriter.reading.postgres.calls import arguments_of
from rewriter.reading.postgres.row_operands import row_named
from rewriter.reading.postgres.rows import row_values
from rewriter.reading.postgres.texts import NUMBER_TEXT, has_own_text, text_of
from rewriter.reading.value_kinds import DIGITS, KEPT_AS
from rewriter.reading.value_types import ValueTypes
from rewriter.syntax.spelled_types import BLANK_PADDED

JSON_AGGREGATES = (exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg)
_NAMED = frozenset(
    f"{of}_{verb}"
    for of in ("json", "jsonb")
    for verb in ("build_object", "build_array", "agg", "object_agg")
) | {"to_json", "to_jsonb", "row_to_json", "array_to_json"}
_WITH_KEYS = frozenset({"json_build_object", "jsonb_build_object"})
_OF_PAIRS = frozenset({"json_object_agg", "jsonb_object_agg"})
_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_LENGTH = re.compile(r"\w+\((\d+)\)")
_MOMENT = "replace(CAST(x AS VARCHAR), ' ', 'T')"
_WITH_MINUTES = "regexp_replace(t, '([+-][0-9][0-9])$', '\\1:00')"
_KEPT = (
    f"CASE WHEN length({NUMBER_TEXT}) <= 16 THEN CAST({NUMBER_TEXT} AS JSON)"
    " WHEN x = trunc(x) THEN to_json(CAST(x AS DECIMAL(38, 0))) ELSE to_json(x) END"
)
"""JSON keeps up to 15 digits of a number with a point as they are written."""
_FLOAT = (
    "CASE WHEN isnan(x) OR isinf(x) THEN to_json(t)"
    " WHEN x = trunc(x) AND abs(x) < 1e15 THEN to_json(CAST(x AS BIGINT))"
    " ELSE CAST(CAST(x AS VARCHAR) AS JSON) END"
)
_LIST = "list_transform(a, LAMBDA e: v)"
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_ROW = "_row"
_OUTER = {"LEFT": ("joined",), "RIGHT": ("before",), "FULL": ("joined", "before")}


def makes_json(node: exp.Expr) -> bool:
    """True for a call that makes JSON of values."""
    return isinstance(node, JSON_AGGREGATES) or (
        isinstance(node, exp.Anonymous) and function_name(node) in _NAMED
    )


def spell_members(node: exp.Expr, types: ValueTypes) -> None:
    """Put values that are written so in the place of what such a call is given."""
    for value in list(_values(node)):
        _spell(value, types)
    for key in _keys(node):
        kind = types.of(key).kind
        if has_own_text(kind) and not types.context.capabilities.postgres_functions:
            key.replace(text_of(key, kind))


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    keys = [id(key) for key in _keys(node)]
    for argument in arguments_of(node):
        value = argument.this if isinstance(argument, exp.Order) else argument
        if isinstance(value, exp.Distinct):
            value = value.expressions[0]
        if id(value) not in keys:
            yield from row_values(value) or (value,)


def _keys(node: exp.Expr) -> list[exp.Expr]:
    name = function_name(node) if isinstance(node, exp.Anonymous) else ""
    arguments = arguments_of(node)
    if name in _WITH_KEYS:
        return arguments[::2]
    is_pair = name in _OF_PAIRS or isinstance(node, (exp.JSONObjectAgg, exp.JSONBObjectAgg))
    return arguments[:1] if is_pair else []


def _spell(value: exp.Expr, types: ValueTypes) -> None:
    row = row_named(value, types.context)
    if row is None:
        made = _json_value(value, types)
        if made is not None:
            value.replace(made)
        return
    name, names = row
    columns = [column(c, name) for c in names]
    is_native = types.context.capabilities.postgres_functions
    spelled = (_row_of_query if is_native else _struct)(names, columns)
    value.replace(spelled)
    forms = [_json_value(c, types) for c in columns]
    is_optional = _is_optional(spelled, name)
    if not any(forms) and (is_native or not is_optional):
        spelled.replace(value)
        return
    for named, form in zip(columns, forms, strict=True):
        if form is not None:
            named.replace(form)
    if is_optional:
        found = [exp.Is(this=column(c, name), expression=exp.Null(), negate=True) for c in names]
        given = exp.or_(*found, copy=False)
        spelled.replace(exp.Case(ifs=[exp.If(this=given, true=spelled.copy())]))


def _struct(names: Sequence[str], columns: Sequence[exp.Expr]) -> exp.Expr:
    pairs = zip(names, columns, strict=True)
    return exp.Struct(expressions=[exp.PropertyEQ(this=ident(n), expression=c) for n, c in pairs])


def _row_of_query(names: Sequence[str], columns: Sequence[exp.Expr]) -> exp.Expr:
    """The row of a query of these columns, for PostgreSQL."""
    pairs = zip(names, columns, strict=True)
    outputs = [exp.Alias(this=c, alias=ident(n)) for n, c in pairs]
    inner = exp.Select(expressions=outputs).subquery(_ROW, copy=False)
    return exp.Subquery(this=exp.Select(expressions=[exp.column(_ROW)]).from_(inner, copy=False))


def _json_value(value: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """What JSON is made of instead of a value; None for the value itself."""
    found = types.of(value)
    length = _LENGTH.fullmatch(found.kind or "")
    if found.spelled == BLANK_PADDED and length is not None:
        return fill("rpad(x, n, ' ')", x=value, n=exp.Literal.number(length[1]))
    if types.context.capabilities.postgres_functions:
        return None
    number = value.this if isinstance(value, exp.Neg) else value
    if isinstance(number, exp.Literal) and not number.is_string:
        return _constant(value, number.name)
    is_listed = isinstance(value.parent, exp.Distinct)
    alone = types.context.capabilities.scalar_json
    return _of_kind(value, found.kind or "", alone=alone, in_order=is_listed)


def _constant(value: exp.Expr, digits: str) -> exp.Expr | None:
    shown = f"{Decimal(digits):f}"
    places = len(shown.partition(".")[2])
    if digits.isdigit() or len(shown) > DIGITS:
        return None
    return exp.cast(exp.paren(value.copy()), f"DECIMAL({DIGITS}, {places})", dialect="duckdb")


def _of_kind(value: exp.Expr, kind: str, *, alone: bool, in_order: bool = False) -> exp.Expr | None:
    """What JSON is made of by its type.

    ``in_order``: only what is ordered as the values are; ``alone``: it may be JSON by itself.
    """
    decimal = _DECIMAL.fullmatch(kind)
    given = exp.paren(value.copy())
    if kind.startswith("TIMESTAMP") and not kind.endswith("]"):
        text = fill(_MOMENT, x=given)
        return text if kind == "TIMESTAMP" else fill(_WITH_MINUTES, t=text)
    if decimal is not None and kind != KEPT_AS:
        return exp.cast(given, f"DECIMAL({DIGITS}, {decimal[2]})", dialect="duckdb")
    if in_order:
        return None
    if kind == KEPT_AS:
        return fill(_KEPT, x=given) if alone else None
    if kind in _FLOATS and alone:
        return fill(_FLOAT, x=given, t=text_of(given, kind))
    if kind.endswith("[]"):
        element = _of_kind(variable("e"), kind[:-2], alone=alone)
        return None if element is None else fill(_LIST, a=given, v=element)
    return text_of(given, kind) if kind in {"INTERVAL", "BLOB"} else None


def _is_optional(node: exp.Expr, name: str) -> bool:
    """True for a relation of which an outer join may find no row."""
    select = node.find_ancestor(exp.Select)
    joins = select.args.get("joins") or [] if select is not None else []
    places = [join.alias_or_name for join in joins]
    for place, join in enumerate(joins):
        sides = _OUTER.get(str(join.side).upper(), ())
        is_joined = places[place] == name
        if ("joined" in sides and is_joined) or ("before" in sides and name not in places[place:]):
            return True
    return False
