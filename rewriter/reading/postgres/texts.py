"""Values as PostgreSQL writes them as texts, in DuckDB's SQL. Pure.

'1 mon -2 days'::interval::text    1 mon -2 days      where DuckDB says 1 month -2 days
100::float::text                   100                where DuckDB says 100.0
1.5::numeric::text                 1.5                where DuckDB says 1.5000000000
ARRAY['a b', NULL]::text           {"a b",NULL}       where DuckDB says [a b, NULL]

Bytes are hexadecimal digits: \\xdead.

chr(0) is no text.

Only values whose type is known are spelled so; what any other value is written as, the store says.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill, variable
from rewriter.reading.postgres.bytes import TEXT as BYTES_TEXT
from rewriter.reading.value_kinds import KEPT_AS
from rewriter.reading.value_types import UNTOLD, ValueTypes

_TIME = "(hour(i) * 3600000000 + minute(i) * 60000000 + microsecond(i))"
_PLURAL = "CASE WHEN {0} = 1 THEN '' ELSE 's' END"
_PART = "CASE WHEN {0} <> 0 THEN {2} || CAST({0} AS VARCHAR) || ' {1}' || " + _PLURAL + " END"
_PLUS = "CASE WHEN {0} > 0 AND {1} < 0 THEN '+' ELSE '' END"
_DAYS_BEFORE = "CASE WHEN month(i) <> 0 THEN month(i) ELSE year(i) END"
_TIME_BEFORE = f"CASE WHEN day(i) <> 0 THEN day(i) ELSE {_DAYS_BEFORE} END"
_FRACTION = (
    f"CASE WHEN {_TIME} % 1000000 = 0 THEN '' ELSE '.' || rtrim(lpad(CAST("
    f"abs({_TIME} % 1000000) AS VARCHAR), 6, '0'), '0') END"
)
_CLOCK = (
    f"CASE WHEN {_TIME} < 0 THEN '-' WHEN {_TIME_BEFORE} < 0 THEN '+' ELSE '' END"
    " || CASE WHEN abs(hour(i)) < 10 THEN '0' ELSE '' END || CAST(abs(hour(i)) AS VARCHAR)"
    " || ':' || lpad(CAST(abs(minute(i)) AS VARCHAR), 2, '0')"
    f" || ':' || lpad(CAST(abs({_TIME}) // 1000000 % 60 AS VARCHAR), 2, '0') || {_FRACTION}"
)
_INTERVAL = (
    "CASE WHEN i IS NOT NULL THEN concat_ws(' ', "
    + _PART.format("year(i)", "year", "''")
    + ", "
    + _PART.format("month(i)", "mon", _PLUS.format("month(i)", "year(i)"))
    + ", "
    + _PART.format("day(i)", "day", _PLUS.format("day(i)", f"({_DAYS_BEFORE})"))
    + f", CASE WHEN {_TIME} <> 0 OR (year(i) = 0 AND month(i) = 0 AND day(i) = 0)"
    f" THEN {_CLOCK} END) END"
)
_DIGITS = "rtrim(regexp_replace(CAST(x AS VARCHAR), '[-.]', '', 'g'), '0')"
_FLOAT = (
    "CASE WHEN isnan(x) THEN 'NaN' WHEN isinf(x) THEN CASE WHEN x < 0 THEN '-' ELSE '' END ||"
    " 'Infinity' WHEN abs(x) >= first AND abs(x) < 1e16 THEN CASE WHEN x < 0 THEN '-' ELSE '' END"
    f" || left({_DIGITS}, 1) || CASE WHEN length({_DIGITS}) > 1 THEN '.' || substr({_DIGITS}, 2)"
    " ELSE '' END || 'e+' || lpad(CAST(length(regexp_extract(CAST(x AS VARCHAR), '[0-9]+')) - 1 AS"
    " VARCHAR), 2, '0') ELSE regexp_replace(CAST(x AS VARCHAR), '\\.0$', '') END"
)
NUMBER_TEXT = (
    "CASE WHEN CAST(x AS VARCHAR) LIKE '%.%' THEN rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.')"
    " ELSE CAST(x AS VARCHAR) END"
)
"""Of a number ``x`` without zeros at the end of its fraction."""
_FIRST_WITH_EXPONENT = {"DOUBLE": 10**15, "FLOAT": 10**6, "REAL": 10**6}
"""From which number on a text has an exponent; from 1e16 on DuckDB's has one as well."""
_CHARACTER = (
    "CASE WHEN n = 0 THEN error('null character not permitted') WHEN n < 0 THEN"
    " error('character number must be positive') ELSE chr(CAST(n AS INTEGER)) END"
)
_QUOTED = (
    "CASE WHEN e IS NULL THEN 'NULL' WHEN t = '' OR upper(t) = 'NULL'"
    " OR regexp_matches(t, '[{},\"\\\\\\s]') THEN"
    " '\"' || replace(replace(t, '\\', '\\\\'), '\"', '\\\"') || '\"' ELSE t END"
)
_ARRAY = "'{' || array_to_string(list_transform(a, LAMBDA e: t), ',') || '}'"
_TRUTH = "CASE WHEN b THEN 't' WHEN NOT b THEN 'f' END"


def has_own_text(kind: str | None) -> bool:
    """True for a type whose texts are not DuckDB's; ``kind`` is a type in DuckDB's words."""
    return kind in {"INTERVAL", "BLOB", KEPT_AS} or kind in _FIRST_WITH_EXPONENT or _is_array(kind)


def text_of(value: exp.Expr, kind: str | None) -> exp.Expr:
    """The text of a value of a type; a plain cast for types whose texts are the same."""
    if kind == "INTERVAL":
        return fill(_INTERVAL, i=exp.paren(value.copy()))
    if kind == "BLOB":
        return fill(BYTES_TEXT, b=exp.paren(value.copy()))
    if kind == KEPT_AS:
        return fill(NUMBER_TEXT, x=exp.paren(value.copy()))
    if kind in _FIRST_WITH_EXPONENT:
        return fill(_FLOAT, x=exp.paren(value.copy()), first=_FIRST_WITH_EXPONENT[kind])
    if kind is not None and _is_array(kind):
        # Of elements whose type cannot be told most are texts, and are written as their casts are.
        kind = kind.replace(UNTOLD, "VARCHAR")
        return fill(_ARRAY, a=exp.paren(value.copy()), t=_element_text(kind[:-2]))
    return exp.cast(value.copy(), "VARCHAR", dialect="duckdb")


def joined_text(value: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """What concat() and format() make of a value; None where the store does the same."""
    kind = types.of(value).kind
    if kind == "BOOLEAN" or isinstance(value.unnest(), _TRUTH_GIVING):
        return fill(_TRUTH, b=value.copy())
    return text_of(value, kind) if has_own_text(kind) else None


_TRUTH_GIVING = (exp.Boolean, exp.Predicate, exp.Not, exp.And, exp.Or)


def _is_array(kind: str | None) -> bool:
    return kind is not None and kind.endswith("[]")


def _element_text(kind: str) -> exp.Expr:
    element = variable("e")
    if kind.endswith("[]"):
        return fill("COALESCE(t, 'NULL')", t=exp.paren(text_of(element, kind)))
    text = fill(_TRUTH, b=element) if kind == "BOOLEAN" else text_of(element, kind)
    return fill(_QUOTED, e=element, t=exp.paren(text))


def spell_character(node: exp.Expr) -> exp.Expr | None:
    """``chr(n)``; None for a number that is written out, and is of a character."""
    if len(node.expressions) != 1:
        return None
    number = node.expressions[0]
    is_known = isinstance(number, exp.Literal) and number.is_int and int(number.name) > 0
    return None if is_known else fill(_CHARACTER, n=exp.paren(number.copy()))


def spell_padded(node: exp.Expr) -> exp.Expr | None:
    """``lpad(t, n, '')``: no more than is there; a width that is computed is an INTEGER.

    None for others.
    """
    filling, width = node.args.get("fill_pattern"), node.expression
    if pads_with_nothing(node):
        return fill("left(t, greatest(n, 0))", t=node.this, n=width)
    made = None
    if not isinstance(width, exp.Literal | exp.Cast):
        made = node.copy()
        made.set("expression", exp.cast(width.copy(), "INTEGER", dialect="duckdb"))
    if filling is None or filling.is_string:
        return made
    parts = {"t": node.this, "n": width, "f": filling, "p": made or node.copy()}
    return fill("CASE WHEN f = '' THEN left(t, greatest(n, 0)) ELSE p END", **parts)


def pads_with_nothing(node: exp.Expr) -> bool:
    """True for ``lpad(t, n, '')``, which is an error in DuckDB where the text is shorter."""
    filling = node.args.get("fill_pattern")
    return filling is not None and bool(filling.is_string) and not filling.name
