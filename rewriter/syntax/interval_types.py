"""Intervals with digits of seconds or fields, as constants and as types of columns. Pure.

INTERVAL '1 2:03' DAY TO HOUR     becomes  CAST('.. 1 days 7200000000 microseconds' AS INTERVAL)
INTERVAL(2) '1.256 s'             the same of seconds with two digits
INTERVAL '1.5' HOUR               the same of one hour
'1-2'::INTERVAL YEAR TO MONTH     the same of a cast
a INTERVAL DAY TO SECOND          becomes  a INTERVAL, which leaves out nothing either

Of values that are computed, and of columns, no store cuts off what a field leaves out: refused.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.interval_text import interval_of_fields, plain_interval
from rewriter.name_resolution import position_of

_FIELDS = frozenset({"year", "month", "day", "hour", "minute", "second"})
_DIGITS = 6
_Fields = tuple[str, str, int]
"""The first and the last field, and the digits of seconds."""


def spell_interval_types(ast: exp.Expr) -> None:
    """Put plain intervals in the place of such ones.

    Raises MOMENT_TEXT for a text that is no interval, NOT_SUPPORTED for a column or a computed
    value that would lose fields or digits.
    """
    for sum_of_two in list(ast.find_all(exp.Add)):
        _join_digits(sum_of_two)
    for interval in list(ast.find_all(exp.Interval)):
        unit, text = interval.args.get("unit"), interval.this
        if unit is None or not isinstance(text, exp.Literal):
            continue
        if isinstance(unit, exp.IntervalSpan | exp.Second) or _is_cut(interval):
            interval.replace(_constant(text, _fields_of(unit)))
    for kind in list(ast.find_all(exp.DataType)):
        found = _fields(kind)
        if found is None:
            continue
        cast = kind.parent if isinstance(kind.parent, exp.Cast) else None
        if cast is not None and cast.this.is_string:
            cast.replace(_constant(cast.this, found))
        elif found[1:] == ("second", _DIGITS) and found[0] != "minute":
            kind.replace(exp.DataType.build("INTERVAL", dialect="duckdb"))
        else:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{_type_name(kind)} of columns and computed values is not supported",
                advice="use INTERVAL, and give it values that are cut to what they should keep",
                position=position_of(cast or kind),
            )


def _join_digits(node: exp.Add) -> None:
    """``INTERVAL(2) '1.256 s'``, which the parser takes for the sum of two intervals, in place."""
    first, text = node.this, node.expression
    digits = first.this.this if _has_brackets(first) else None
    if not isinstance(digits, exp.Literal) or not isinstance(text, exp.Interval):
        return
    unit = text.args.get("unit")
    words = f"{text.this.name} {unit.name}" if isinstance(unit, exp.Var) else text.this.name
    fields = ("year", "second", int(digits.name) if digits.name.isdigit() else -1)
    node.replace(_constant(exp.Literal.string(words), fields))


def _is_cut(interval: exp.Interval) -> bool:
    """True for ``INTERVAL '1.5' HOUR``, and not for ``INTERVAL '1.5 hours'``."""
    unit = interval.args.get("unit")
    is_known = isinstance(unit, exp.Var) and unit.name.lower() in _FIELDS - {"second"}
    return is_known and "." in interval.name and not interval.args.get("fraction_in_string")


def _has_brackets(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Interval)
        and isinstance(node.this, exp.Paren)
        and node.args.get("unit") is None
    )


def _fields(kind: exp.DataType) -> _Fields | None:
    """What a type of intervals keeps; None for one that keeps all, and for other types."""
    if isinstance(kind.this, exp.Interval):
        return _fields_of(kind.this.args["unit"])
    if kind.this is exp.DType.INTERVAL and kind.expressions:
        digits = kind.expressions[0].name
        return "year", "second", int(digits) if digits.isdigit() else -1
    return None


def _type_name(kind: exp.DataType) -> str:
    """A type of intervals as PostgreSQL writes it."""
    if isinstance(kind.this, exp.Interval):
        return f"INTERVAL {kind.this.args['unit'].sql(dialect='postgres')}"
    return f"INTERVAL({kind.expressions[0].name})"


def _fields_of(unit: exp.Expr) -> _Fields:
    ends = (unit.this, unit.expression) if isinstance(unit, exp.IntervalSpan) else (unit, unit)
    first, last = (end.key if isinstance(end, exp.Second) else end.name.lower() for end in ends)
    digits = ends[1].this.name if isinstance(ends[1], exp.Second) else str(_DIGITS)
    return first, last, int(digits) if digits.isdigit() else -1


def _constant(text: exp.Expr, fields: _Fields) -> exp.Cast:
    first, last, digits = fields
    digits = min(digits, _DIGITS)
    is_known = digits >= 0 and {first, last} <= _FIELDS
    words = text.name
    if words.strip().upper().startswith("P"):
        words = plain_interval(words) or words
    plain = interval_of_fields(words, first, last, digits) if is_known else None
    if plain is None:
        raise PalimpsestError(
            Code.MOMENT_TEXT,
            f'invalid input syntax for type interval: "{text.name}"',
            advice="write '3 days 04:05:06', or an amount for each unit",
        )
    return exp.cast(exp.Literal.string(plain), "INTERVAL")
