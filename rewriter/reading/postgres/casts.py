"""Casts of values that PostgreSQL has, and other stores lack or read otherwise. Pure.

s::boolean          any beginning of true, yes, on, false, no and off, also of a computed text
t::interval         of a time of day
s::int, s::int[]    of a computed text; whole numbers have no fraction
j::boolean, j::int  of a value of JSON that is a boolean, and of a number
1e13::numeric       of a constant with an exponent, which is exact
i::time             of an interval: what it has of a day beside its days and months
s::timestamp        of a computed text whose seconds have more digits than six
'P1DT2H'::text::interval
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from journal.sql.builders import fill
from journal.sql.interval_text import plain_interval
from journal.sql.typed_constants import typed_constant
from rewriter.reading.postgres.array_texts import read_computed_array
from rewriter.reading.postgres.json.json import native_jsonb
from rewriter.reading.postgres.long_fractions import MOMENTS, with_short_fraction
from rewriter.reading.postgres.operators import cut_text
from rewriter.reading.postgres.type_names import type_name
from rewriter.reading.value_types import KIND, ValueTypes, results_of

_TEXTS = frozenset({"VARCHAR", "TEXT"})
_TRUTH = (
    "CASE WHEN lower(trim(x)) IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1') THEN TRUE"
    " WHEN lower(trim(x)) IN ('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0')"
    " THEN FALSE ELSE CAST(x AS BOOLEAN) END"
)

_OF_JSON = (exp.JSONExtractScalar, exp.JSONBExtractScalar)
_WHOLE = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_WHOLE_TEXT = "CASE WHEN x LIKE '%.%' OR x ILIKE '%e%' THEN '\"' || x || '\"' ELSE x END"
"""A text with a fraction or an exponent as one that no store casts to a whole number."""
_OF_NUMBERS = frozenset({*_WHOLE, exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE})
_JSON_KINDS = {
    "VARCHAR": "string",
    "ARRAY": "array",
    "OBJECT": "object",
    "NULL": "null",
    "BOOLEAN": "boolean",
    **dict.fromkeys(("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE"), "numeric"),
}
"""What PostgreSQL calls the kinds of values of JSON."""
_DIGITS_MAX = 38
_ROUNDED = "round(CAST(CAST(j AS VARCHAR) AS DECIMAL(38, 10)))"
"""A number of JSON that ends in .5 rounds away from zero, and not to an even number."""
_CAST_SO = "palimpsest_cast_so"
_BY_TEXT = "COALESCE(TRY_CAST(CAST(x AS VARCHAR) AS DECIMAL), c)"


def cast_float(cast: exp.Cast) -> exp.Expr:
    """A floating-point number as a NUMERIC by its shortest text: 2.675 is not 2.67499.."""
    made = fill(_BY_TEXT, x=cast.this, c=cast)
    made.this.set("to", cast.to.copy())
    made.expressions[0].meta[_CAST_SO] = True
    return made


def spell_value_cast(cast: exp.Cast, types: ValueTypes) -> exp.Expr | None:
    """What means the same as such a cast; None for any other."""
    kind, to = types.of(cast.this).kind, cast.to.this
    if to is exp.DType.DECIMAL or to in _WHOLE:
        plain_number = _without_exponent(cast.this.unnest())
        if plain_number is not None:
            made = cast.copy()
            made.set("this", plain_number)
            return made
    if cast.this.is_string and to in _WHOLE:
        typed_constant(cast.this, to.value)
    if to is exp.DType.BOOLEAN and kind in _TEXTS:
        return fill(_TRUTH, x=cast.this)
    if to is exp.DType.INTERVAL and kind == "TIME":
        return fill("to_microseconds(epoch_us(x))", x=cast.this)
    if to is exp.DType.TIME and kind == "INTERVAL":
        return exp.paren(fill("TIME '00:00:00' + x", x=exp.paren(cast.this.copy())))
    if to is exp.DType.INTERVAL and kind in _TEXTS:
        inner = cast.this.unnest()
        text = inner.this if isinstance(inner, exp.Cast) else inner
        plain = plain_interval(text.name) if text.is_string else None
        if plain is not None:
            return exp.cast(exp.Literal.string(plain), "INTERVAL", dialect="duckdb")
    is_list = to in {exp.DType.ARRAY, exp.DType.LIST} and not cast.this.is_string
    if is_list and (kind in _TEXTS or _joins_texts(cast.this.unnest())):
        return read_computed_array(cast, _cast_element)
    if kind == "JSON" and (to is exp.DType.BOOLEAN or to in _OF_NUMBERS):
        return _cast_json(cast, types)
    if to in MOMENTS:
        return read_computed_moment(cast, types)
    is_text = kind in _TEXTS or isinstance(cast.this.unnest(), _OF_JSON)
    if to in _WHOLE and is_text and not isinstance(cast.this, exp.Case):
        return _cast_text(cast)
    return None


def _without_exponent(value: exp.Expr) -> exp.Expr | None:
    """A constant ``1e13`` as 10000000000000, which is exact here; stores take it for a DOUBLE."""
    if not isinstance(value, exp.Literal) or value.is_string or "e" not in value.name.lower():
        return None
    digits = f"{Decimal(value.name):f}"
    return exp.Literal.number(digits) if len(digits) <= _DIGITS_MAX else None


def read_computed_moment(cast: exp.Cast, types: ValueTypes) -> exp.Cast | None:
    """The moment of a text that rows compute; None for a constant and for what is no text.

    None where the store cannot round seconds, too.
    """
    if not types.context.capabilities.rounds_seconds or cast.this.is_string:
        return None
    if not _is_text(cast.this, types):
        return None
    return _cast_text(cast)


def _is_text(value: exp.Expr, types: ValueTypes) -> bool:
    """True for what is known to compute a text."""
    value, kind = value.unnest(), types.of(value).kind
    if kind is not None:
        return kind.partition("(")[0] in _TEXTS and not kind.endswith("]")
    match value:
        case exp.DPipe():
            parts = list(value.flatten())
            kinds = [types.of(part).kind or "" for part in parts]
            is_other = any(k.endswith("]") or k in {"JSON", "BLOB", "BIT"} for k in kinds)
            return not is_other and (_joins_texts(value) or not _TEXTS.isdisjoint(kinds))
        case exp.Substring() | exp.Trim():
            return _is_text(value.this, types)
        case exp.Case():
            return any(_is_text(result, types) for result in results_of(value))
        case exp.Coalesce():
            return any(_is_text(part, types) for part in value.iter_expressions())
        case exp.Bracket():
            return types.of(value.this).kind == "VARCHAR[]" and len(value.expressions) == 1
        case _:
            return isinstance(value, (*_OF_JSON, exp.Format))


def _cast_text(cast: exp.Cast) -> exp.Cast:
    """The cast of a computed text in which a number has no fraction, and a second a short one."""
    if cast.to.this in MOMENTS:
        text = with_short_fraction(cast.this, cast.to.this)
    else:
        text = fill(_WHOLE_TEXT, x=cast.this)
    made = cast.copy()
    made.set("this", text)
    return made


def _joins_texts(value: exp.Expr) -> bool:
    """True for ``'{' || a || '}'``; what joins arrays has been spelled by then."""
    parts = value.flatten() if isinstance(value, exp.DPipe) else ()
    return any(part.is_string for part in parts)


def _cast_element(cast: exp.Cast) -> exp.Expr:
    if cast.to.this is exp.DType.BOOLEAN:
        return fill(_TRUTH, x=cast.this)
    if cast.to.this in _WHOLE:
        return _cast_text(cast)
    if cast.to.is_type(*exp.DataType.TEXT_TYPES):
        return cut_text(cast)
    return cast


def _cast_json(cast: exp.Cast, types: ValueTypes) -> exp.Expr:
    """The cast of a value of JSON, which fails for one of another kind."""
    kind = types.of(cast).kind or cast.to.this.value
    wanted = "boolean" if cast.is_type(exp.DType.BOOLEAN) else "numeric"
    branches = [
        f"WHEN '{name}' THEN error('cannot cast jsonb {called} to type {type_name(kind)}')"
        for name, called in _JSON_KINDS.items()
        if called != wanted
    ]
    value: exp.Expr = cast
    if cast.to.this in _WHOLE:
        value = cast.copy()
        value.set("this", fill(_ROUNDED, j=cast.this))
    made = fill(f"CASE json_type(j) {' '.join(branches)} ELSE c END", j=cast.this, c=value)
    made.meta[KIND] = kind
    return made


def native_json_cast(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The same on PostgreSQL, which casts jsonb so, and no json."""
    to = node.to.this if type(node) is exp.Cast else None
    if to not in {exp.DType.BOOLEAN, *_OF_NUMBERS} or types.of(node.this).kind != "JSON":
        return None
    made = node.copy()
    made.set("this", native_jsonb(node.this))
    return made
