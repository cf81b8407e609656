"""Operators and calls of PostgreSQL that mean something else by what they are given. Pure.

x = ANY (l)                    of a list that is NULL: unknown, where DuckDB says false
s LIKE p                       a backslash in the pattern escapes
d::timestamp(2)                of a moment: its seconds are rounded; current_timestamp(0)
d::text                        of an interval, a DOUBLE or an array, as PostgreSQL writes it
real * 2, real + numeric       computed as DOUBLE
n * m                          of NUMERICs: with all digits that a product may have
round(a / 3, 2)                of a NUMERIC: exactly, where the store has a DOUBLE
t + '1 hour', n + '2'          the text is a value of the type that the operator takes
substring(s, -1, 3)            begins before the text; DuckDB counts from its end
substring(s SIMILAR p ESCAPE e)  the part that the middle of a pattern matches
pg_typeof(x)                   by PostgreSQL's names
to_hex(i), length(b)           of an INTEGER eight digits at most, of bytes their number
make_interval(days => n)       of values that are no constants; chr(n) of 0 is an error

What is not known to be of such a type is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.postgres import arrays, similar
from rewriter.reading.postgres.aggregates import (
    MEANS,
    as_native,
    is_rough_percentile,
    spell_different,
    spell_joined,
)
from rewriter.reading.postgres.array_texts import spell_alike, spell_array_operator
from rewriter.reading.postgres.bits import are_bits, cast_bits, part_of_bits
from rewriter.reading.postgres.bytes import (
    count_bits,
    is_bytes,
    native_encode,
    read_bytes,
    spell_bit,
    spell_conversion,
    spell_decode,
    spell_digest,
    spell_encode,
    spell_overlay,
    spell_part_of_bytes,
    spell_place_of_bytes,
    spell_trim,
)
from rewriter.reading.postgres.casts import (
    cast_float,
    native_json_cast,
    read_computed_moment,
    spell_value_cast,
)
from rewriter.reading.postgres.collations import spell_case, spell_extreme, spell_upper
from rewriter.reading.postgres.days import spell_days
from rewriter.reading.postgres.formats import spell_reading, spell_template
from rewriter.reading.postgres.intervals import spell_frame, spell_made_interval
from rewriter.reading.postgres.json import jsonb_calls
from rewriter.reading.postgres.json.jsonb_choices import spell_choice
from rewriter.reading.postgres.json.path import calls as json_path_calls
from rewriter.reading.postgres.math import (
    spell_compared,
    spell_divisor,
    spell_inverse,
    spell_shift,
    spell_spread,
)
from rewriter.reading.postgres.moments import (
    cut_in_zone,
    native_current,
    rounded_moment,
    spell_computed_cut,
    spell_current,
    spell_cut,
    spell_difference,
    spell_part,
    spell_today,
)
from rewriter.reading.postgres.patterns import concerns_patterns, spell_like
from rewriter.reading.postgres.places import native_place, spell_place
from rewriter.reading.postgres.products import whole_constants, widened_factor
from rewriter.reading.postgres.quantified import spell_quantified
from rewriter.reading.postgres.regexps import (
    spell_count,
    spell_instr,
    spell_match,
    spell_replaced,
    spell_substr,
)
from rewriter.reading.postgres.rounding import is_inexact, spell_rounded, spell_sign
from rewriter.reading.postgres.sources import spell_series
from rewriter.reading.postgres.text_calls import (
    PRETTY_SIZE,
    spell_normalized,
    spell_split,
    spell_unicode,
)
from rewriter.reading.postgres.texts import (
    has_own_text,
    pads_with_nothing,
    spell_character,
    spell_padded,
    text_of,
)
from rewriter.reading.postgres.type_names import spell_typeof
from rewriter.reading.postgres.zones import spell_zone
from rewriter.reading.value_kinds import DIGITS, FRACTION, WHOLE_KINDS
from rewriter.reading.value_types import ValueTypes

Spell = Callable[[exp.Expr, ValueTypes], exp.Expr | None]
"""Makes what stands for a node; None leaves it as it is."""

_PLAIN_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*")
_OF_ZONES = frozenset({"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"})
_FLOATS = frozenset({"FLOAT", "REAL"})
_HALF_WIDE = frozenset({"SMALLINT", "INTEGER", "INT"})
_MOMENTS = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME})
_BIGINT_DIGITS = 19


def _like(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    return spell_like(node) if concerns_patterns(node) else None


def _cast(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    assert isinstance(node, exp.Cast)
    if type(node) is not exp.Cast:
        return None
    if node.to.this in {exp.DType.TEXT, exp.DType.VARCHAR} and not node.to.expressions:
        kind = types.of(node.this).kind
        return text_of(node.this, kind) if has_own_text(kind) else None
    if node.to.this is exp.DType.VARBINARY and not node.this.is_string:
        return read_bytes(node.this) if types.of(node.this).kind in {"VARCHAR", "TEXT"} else None
    if node.to.this is exp.DType.TIME and types.of(node.this).kind in _OF_ZONES:
        # The time of day in the zone of the session, for stores without that cast.
        local = exp.cast(node.this.copy(), "TIMESTAMP", dialect="duckdb")
        node = exp.Cast(this=local, to=node.to.copy())
        return _cast(node, types) or node
    if node.to.this in _MOMENTS and node.to.expressions:
        read = read_computed_moment(node, types)
        whole = exp.cast((read or node).this.copy(), node.to.this)
        return rounded_moment(whole, node.to.this, node.to.expressions[0].this) or read
    if node.to.this is exp.DType.DECIMAL and types.of(node.this).kind in {"DOUBLE", *_FLOATS}:
        return None if types.context.capabilities.postgres_functions else cast_float(node)
    if node.to.this is exp.DType.DECIMAL and node.to.expressions and is_inexact(node.this, types):
        cast = node.copy()
        cast.set("this", exp.cast(cast.this, "VARCHAR", dialect="duckdb"))
        return cast
    if node.to.this is exp.DType.BIT:
        return cast_bits(node, types)
    return spell_value_cast(node, types)


def _arithmetic(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    sides = {"this": node.this, "expression": node.expression}
    kinds = {name: types.of(side).kind or "" for name, side in sides.items()}
    changed: dict[str, exp.Expr] = {}
    if isinstance(node, exp.Sub) and (apart := spell_difference(node, *kinds.values())) is not None:
        return apart
    if isinstance(node, exp.Add | exp.Sub) and (days := spell_days(node, kinds)) is not None:
        return days
    for name, other in (("this", "expression"), ("expression", "this")):
        side, beside = sides[name].unnest(), kinds[other]
        if kinds[name] in _FLOATS and beside and beside not in _FLOATS:
            changed[name] = exp.cast(side.copy(), "DOUBLE", dialect="duckdb")
        elif side.is_string and beside:
            value = _taken_beside(side, beside, type(node))
            if value is not None:
                changed[name] = value
    changed = changed or whole_constants(sides, kinds)
    if isinstance(node, exp.Mul) and not changed:
        changed = widened_factor(sides, kinds)
    if not changed:
        return None
    made = node.copy()
    for name, value in changed.items():
        made.set(name, value)
    if isinstance(made, exp.Sub) and "TIME" in kinds.values():
        return spell_difference(made, "TIME", "TIME") or made
    is_float = bool(_FLOATS & {*kinds.values()}) or (
        "DOUBLE" in kinds.values() and any(side.unnest().is_string for side in sides.values())
    )
    if isinstance(node, exp.Div) and node.args.get("typed"):
        if types.context.capabilities.divides_by_type:
            # Of floating-point numbers this store's ``//`` divides, and fails for zero.
            is_numeric = any(kind.startswith("DECIMAL") for kind in kinds.values())
            as_float = exp.cast(made.this, "DOUBLE", dialect="duckdb")
            left = as_float if is_numeric and not is_float else made.this
            if is_numeric or is_float or WHOLE_KINDS & {*kinds.values()}:
                return exp.IntDiv(this=left, expression=made.expression)
        elif {kinds[name] for name in sides if not sides[name].unnest().is_string} <= WHOLE_KINDS:
            # A constant in quotes is of the type of what stands beside it.
            return exp.IntDiv(this=made.this, expression=made.expression)
    return made


def _remainder(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """Of a NUMERIC and a whole constant beyond BIGINT, which stores would compute as a DOUBLE."""
    for name, other in (("this", "expression"), ("expression", "this")):
        constant, beside = node.args[name].unnest(), types.of(node.args[other]).kind or ""
        value: exp.Expr | None = None
        if name == "expression" and beside in WHOLE_KINDS and _is_minus_one(constant):
            # Of the lowest number the quotient is none.
            return fill("x & 0", x=exp.paren(node.this.copy()))
        if constant.is_string and beside:
            value = _taken_beside(constant, beside, exp.Mod)
        elif isinstance(constant, exp.Literal) and constant.is_int:
            is_wide = _BIGINT_DIGITS <= len(constant.name) <= DIGITS - FRACTION
            if is_wide and beside.startswith("DECIMAL"):
                kind = f"DECIMAL({DIGITS}, {FRACTION})"
                value = exp.cast(constant.copy(), kind, dialect="duckdb")
        if value is not None:
            made = node.copy()
            made.set(name, value)
            return made
    sides = {"this": node.this, "expression": node.expression}
    wide = whole_constants(sides, {name: types.of(side).kind or "" for name, side in sides.items()})
    if not wide:
        return None
    made = node.copy()
    for name, value in wide.items():
        made.set(name, value)
    return made


def _is_minus_one(constant: exp.Expr) -> bool:
    while isinstance(constant, exp.Cast | exp.Paren):
        constant = constant.this
    return isinstance(constant, exp.Neg) and constant.this.is_int and constant.this.name == "1"


def _taken_beside(text: exp.Expr, kind: str, operator: type[exp.Expr]) -> exp.Expr | None:
    """The value that PostgreSQL takes a text for beside one of another type."""
    taken: str | None = None
    if kind.startswith("DECIMAL"):
        is_number = _PLAIN_NUMBER.fullmatch(text.name) is not None
        return exp.paren(exp.Literal.number(text.name.strip())) if is_number else None
    if kind.startswith("TIMESTAMP") or kind == "INTERVAL":
        if operator in {exp.Add, exp.Sub}:
            taken = kind if operator is exp.Sub else "INTERVAL"
    elif kind == "TIME" and operator in {exp.Add, exp.Sub}:
        taken = kind if operator is exp.Sub else "INTERVAL"
    elif kind == "DATE":
        taken = kind if operator is exp.Sub else None
    elif kind in WHOLE_KINDS or kind == "DOUBLE":
        taken = kind
    return None if taken is None else exp.cast(text.copy(), taken, dialect="duckdb")


def _percentile(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """Of the DOUBLE of values, so that what lies between two is not rounded to their digits."""
    ordered = node.expression.expressions
    if len(ordered) != 1 or not is_rough_percentile(node, types.of(ordered[0].this).kind):
        return None
    made = node.copy()
    first = made.expression.expressions[0]
    first.set("this", exp.cast(first.this.copy(), "DOUBLE", dialect="duckdb"))
    return made


def _substring(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """A part that may begin before the first sign, of which it has the less."""
    if is_bytes(node.this, types) and not types.context.capabilities.postgres_functions:
        return spell_part_of_bytes(node)
    start, length = node.args.get("start"), node.args.get("length")
    if start is not None and length is not None:
        if start.is_string or types.of(start).kind in {"VARCHAR", "TEXT"}:
            is_native = types.context.capabilities.postgres_functions
            native = call("substring", node.this, start, length)
            return native if is_native else similar.spell_part(node)
    if are_bits(node.this, types) and not types.context.capabilities.postgres_functions:
        return part_of_bits(node.this, start, length)
    if isinstance(length, exp.Neg) and isinstance(length.this, exp.Literal):
        raise PalimpsestError(
            Code.SUBSTRING,
            "negative substring length not allowed",
            advice="write greatest(length, 0)",
            position=position_of(length.this),
        )
    if start is None or start.is_string or (isinstance(start, exp.Literal) and start.name != "0"):
        return None
    is_number = isinstance(start, exp.Literal | exp.Neg | exp.StrPosition | exp.Length)
    if not is_number and types.of(start).kind not in WHOLE_KINDS:
        return None
    parts = {"s": node.this, "n": exp.paren(start.copy())}
    first = "CASE WHEN n < 1 THEN 1 ELSE n END"
    if length is None:
        return fill(f"substr(s, {first})", **parts)
    size = "CASE WHEN n >= 1 THEN m WHEN n + m < 1 THEN 0 ELSE n + m - 1 END"
    return fill(f"substr(s, {first}, {size})", **parts, m=exp.paren(length.copy()))


def _octets(value: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    if types.of(value).kind == "BLOB":
        return None
    return fill("octet_length(encode(CAST(x AS VARCHAR)))", x=value)


def _of_one(make: Callable[[exp.Expr, ValueTypes], exp.Expr | None]) -> Spell:
    return lambda node, types: make(node.expressions[0], types)


TYPED_CALLS: Mapping[str, tuple[int, Spell]] = {
    **dict.fromkeys(("convert_from", "convert_to"), (2, spell_conversion)),
    **dict.fromkeys(jsonb_calls.NAMES, (2, jsonb_calls.spell_operator_call)),
    **dict.fromkeys(("gcd", "lcm"), (2, spell_divisor)),
    "set_bit": (3, spell_bit),
    "timezone": (2, spell_zone),
    "bit_count": (1, _of_one(count_bits)),
    "cardinality": (1, _of_one(arrays.spell_cardinality)),
    "array_dims": (1, _of_one(arrays.spell_dims)),
    "array_ndims": (1, _of_one(arrays.spell_ndims)),
    "date_trunc": (0, spell_computed_cut),
    "octet_length": (1, _of_one(_octets)),
    "pg_typeof": (1, _of_one(spell_typeof)),
    "to_char": (2, spell_template),
    "pg_size_pretty": (1, _of_one(lambda size, _: fill(PRETTY_SIZE, n=exp.paren(size.copy())))),
    "unistr": (1, _of_one(lambda text, _: spell_unicode(text))),
    "to_date": (2, spell_reading),
    "to_timestamp": (2, spell_reading),
}
"""By the name of a function that the parser does not know, and how many arguments it takes; 0
where the function that spells it counts them."""


def _named(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    if function_name(node) in json_path_calls.NAMES:
        return json_path_calls.spell_path_call(node, types)
    count, spell = TYPED_CALLS.get(function_name(node), (0, None))
    if spell is None or count not in {0, len(node.expressions)}:
        return None
    return spell(node, types)


def _lower_hex(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    if types.of(node.this).kind in {"BLOB", "VARCHAR"}:
        return None
    value = node.this
    if types.of(value).kind in _HALF_WIDE:
        value = fill("CAST(x AS BIGINT) & 4294967295", x=exp.paren(value.copy()))
    return exp.Lower(this=call("to_hex", value))


def _length_of_bytes(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    return call("octet_length", node.this) if types.of(node.this).kind == "BLOB" else None


def _joined_elements(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    is_null = isinstance(node.expression, exp.Null)
    return exp.cast(exp.null(), "VARCHAR") if is_null else None


def _compared(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    return spell_quantified(node, types) or spell_compared(node, types)


_CURRENT = (exp.CurrentTimestamp, exp.CurrentTime, exp.Localtimestamp, exp.Localtime)
COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
TYPED: Mapping[type[exp.Expr], Spell] = {
    **dict.fromkeys(COMPARED, _compared),
    **dict.fromkeys((exp.Like, exp.ILike), _like),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), _arithmetic),
    **dict.fromkeys((exp.Round, exp.Trunc), spell_rounded),
    exp.Sign: spell_sign,
    exp.Mod: _remainder,
    exp.Cast: _cast,
    exp.Substring: _substring,
    exp.Extract: spell_part,
    exp.WithinGroup: _percentile,
    exp.Anonymous: _named,
    exp.Hex: _lower_hex,
    exp.BitString: lambda node, _: exp.cast(exp.Literal.string(node.name), "BIT", dialect="duckdb"),
    **dict.fromkeys((exp.Greatest, exp.Least), spell_extreme),
    **dict.fromkeys((exp.Lower, exp.Initcap), spell_case),
    exp.Upper: spell_upper,
    **dict.fromkeys((exp.Acosh, exp.Atanh), spell_inverse),
    **dict.fromkeys((exp.VariancePop, exp.StddevPop), spell_spread),
    exp.Bracket: spell_place,
    **dict.fromkeys((exp.GenerateSeries, exp.ExplodingGenerateSeries), spell_series),
    exp.Length: _length_of_bytes,
    exp.Normalize: lambda node, _: spell_normalized(node),
    exp.MakeInterval: lambda node, _: spell_made_interval(node),
    exp.Pad: lambda node, _: spell_padded(node),
    exp.Chr: lambda node, _: spell_character(node),
    **dict.fromkeys(json_path_calls.OPERATORS, json_path_calls.spell_path_call),
    exp.JSONBContains: jsonb_calls.spell_operator_call,
    exp.JSONObject: jsonb_calls.spell_pair,
    exp.Overlay: spell_overlay,
    exp.Trim: spell_trim,
    exp.Getbit: spell_bit,
    exp.Decode: spell_decode,
    exp.SHA2Digest: spell_digest,
    exp.Array: arrays.check_dimensions,
    exp.ArraySize: arrays.spell_length,
    **dict.fromkeys((exp.ArrayConcat, exp.Coalesce, exp.Case), spell_alike),
    exp.ArrayPosition: arrays.spell_position,
    exp.WidthBucket: arrays.spell_bucket,
    **dict.fromkeys(_CURRENT, lambda node, _: spell_current(node)),
    exp.CurrentDate: lambda node, _: spell_today(node),
    exp.TimestampTrunc: spell_cut,
    exp.AtTimeZone: spell_zone,
    exp.WindowSpec: spell_frame,
    exp.SplitPart: lambda node, _: spell_split(node),
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), spell_match),
    exp.RegexpReplace: spell_replaced,
    exp.RegexpCount: spell_count,
    exp.RegexpInstr: spell_instr,
    exp.RegexpSubstr: spell_substr,
    exp.Encode: spell_encode,
    exp.StrPosition: spell_place_of_bytes,
    exp.ArrayAgg: spell_different,
    exp.GroupConcat: spell_joined,
    exp.ArrayToString: _joined_elements,
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), spell_shift),
    **dict.fromkeys(
        (exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps), spell_array_operator
    ),
}
"""By kinds of nodes, for stores that are no PostgreSQL."""
NATIVE: Mapping[type[exp.Expr], Spell] = {
    exp.ArrayPosition: arrays.native_position,
    exp.Substring: _substring,
    exp.Extract: spell_part,
    **dict.fromkeys((exp.Trunc, exp.Round), spell_rounded),
    exp.TimestampTrunc: cut_in_zone,
    **dict.fromkeys((exp.Encode, exp.Decode), native_encode),
    exp.Hex: lambda node, _: call("to_hex", node.this),
    exp.JSONObject: jsonb_calls.native_object,
    **dict.fromkeys((exp.Coalesce, exp.Case), spell_choice),
    **dict.fromkeys(json_path_calls.OPERATORS, json_path_calls.native_operator),
    exp.IntDiv: lambda node, _: call("div", node.this, node.expression),
    **dict.fromkeys((*MEANS, exp.Sign, exp.Log, exp.Literal), lambda node, _: as_native(node)),
    exp.Pad: lambda node, _: as_native(node) if pads_with_nothing(node) else None,
    exp.Bracket: native_place,
    exp.Cast: native_json_cast,
    **dict.fromkeys(
        (exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps),
        arrays.native_list,
    ),
    **dict.fromkeys(_CURRENT, lambda node, _: native_current(node)),
}
"""The same for PostgreSQL, to which its adapter says them as DuckDB means them."""
