"""Refuses or checks what Apache Hive may answer differently from other stores.

    CAST(x AS INT)       the number, or an error where Hive would cut it, wrap it or say NULL
    CAST(x AS DATE)      the same: Hive takes '2024-01-02 and more' for a date
    TRY_CAST(..)         NULL for what is no value in any way of writing it; an error where that is
                         not sure
    CAST(x AS STRING)    an error for doubles, which Hive writes another way
    x = '2024-01-01 10'  an error unless x is a text: a text beside a number or a moment is read as
                         one, and this is midnight to Hive, '1d' is one

Where only the values tell, the server refuses: ``only_if`` is an error while it runs. Pure.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill, is_given, is_null, or_false

_T = exp.DType
GIVEN = "given"
"""Marks a text that the gateway wrote itself for the type it is cast to."""
_LARGEST = {_T.TINYINT: 2**7, _T.SMALLINT: 2**15, _T.INT: 2**31, _T.BIGINT: 2**63}
_REAL = {_T.DOUBLE, _T.FLOAT}
_MOMENTS = {_T.TIMESTAMP, _T.TIMESTAMPNTZ, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ}
_EXACT = {_T.DECIMAL} | _REAL
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$(?!\\n)"
_MOMENT = f"^{_DAY}([ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?)?$(?!\\n)"
_CLOCK = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_LITERAL = re.compile(f"{_DAY}([ T]{_CLOCK}([-+][0-9]{{2}}(:?[0-9]{{2}})?)?)?")
_STARTS = {"number": r"^\s*[-+.]?([0-9]|inf|nan)", "moment": r"^\s*[-+]?[0-9]|epoch|inf"}
_TRUTHS = ("true", "false")
_WORDS = ("t", "f", "y", "n", "yes", "no", "1", "0", "on", "off")
_SURE = re.compile(
    r"-?[0-9]{1,15}([.][0-9]{1,9})?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?"
)
_READ = re.compile(r"\s*[-+]?[.]?([0-9]|nan|inf)|(t|f|y|n|true|false|yes|no|on|off)$", re.I)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
COMPARED = (*_COMPARISONS, exp.In, exp.Between)


def refused(what: str) -> PalimpsestError:
    """The error for a part of a query."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"Apache Hive may answer this differently: {what}",
        advice="raise held_rows in the URL, so that the gateway answers it, or ask Hive itself",
    )


def only_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value, or an error where a condition does not hold; both need a column.

    Nobody can count in no buckets. Hive's own ASSERT_TRUE is NULL instead of an error where rows
    are worked on in batches.
    """
    buckets = fill("CASE WHEN c THEN 1 ELSE 0 END", c=condition)
    return exp.Case().when(is_given(call("width_bucket", 1, 1, 2, buckets)), value)


def checked_cast(node: exp.Expr) -> exp.Expr | None:
    """What stands for a cast; None where Hive makes it as it should be."""
    assert isinstance(node, exp.Cast)
    kind, value = node.to.this, node.this
    if isinstance(value, exp.Null):
        return None
    if value.meta.get(GIVEN):
        return _endless(node) if kind in _REAL else None
    is_constant = value.find(exp.Column, exp.Bracket, exp.Query) is None
    if kind is _T.TEXT:
        return None if is_constant else _text(value)
    if is_constant:
        _make_sure(value.unnest(), kind)
        return None
    made = exp.Cast(this=value.copy(), to=node.to.copy())
    holds = or_false(_holds(kind, value, made))
    if not node.args.get("safe"):
        return only_if(exp.or_(is_null(value), holds), made)
    # What surely is no value gives NULL; anything else is no answer at all.
    known = exp.or_(holds, exp.Not(this=exp.paren(or_false(_unsure(kind, value)))))
    return only_if(known, exp.Case().when(holds.copy(), made))


def guard_compared(node: exp.Expr) -> None:
    """Let a comparison with a text that Hive reads in its own way fail unless it is of texts."""
    if isinstance(node, _COMPARISONS):
        pairs = [(node.this, [node.expression]), (node.expression, [node.this])]
    elif isinstance(node, exp.Between):
        pairs = [(node.this, [node.args["low"], node.args["high"]])]
    else:
        pairs = [(node.this, node.expressions)]
    for value, others in pairs:
        if not any(map(_is_odd, others)) or _is_text(value):
            continue
        if value.find(exp.Column) is None:
            raise refused("a constant compared with such a text")
        value.replace(only_if(_has_type(value, "^(string|varchar|char)"), value.copy()))


def _is_odd(node: exp.Expr) -> bool:
    is_read = _is_text(node) and _READ.match(node.name) is not None
    return is_read and _SURE.fullmatch(node.name) is None


def _is_text(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal) and value.is_string


def _has_type(value: exp.Expr, pattern: str) -> exp.Expr:
    """That the server's name for a value's type is like a pattern.

    What is known beforehand Hive does not check, so the value is part of the condition.
    """
    both = call("concat_ws", " ", call("typeof", value), _string(value))
    return exp.RegexpLike(this=both, expression=exp.Literal.string(pattern))


def _string(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("STRING"))


def _is_like(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=_string(value), expression=exp.Literal.string(pattern))


def _is_word(value: exp.Expr, words: tuple[str, ...]) -> exp.Expr:
    known = [exp.Literal.string(word) for word in words]
    return exp.In(this=exp.Lower(this=_string(value)), expressions=known)


def _text(value: exp.Expr) -> exp.Expr:
    """Text of a value whose kind the server knows."""
    known = exp.Not(this=exp.paren(_has_type(value, "^(double|float|binary)")))
    written = "CASE WHEN kind = 'boolean' THEN LOWER(t) ELSE t END"
    return only_if(known, fill(written, kind=call("typeof", value), t=_string(value)))


def _holds(kind: exp.DType, value: exp.Expr, made: exp.Expr) -> exp.Expr:
    """That a value in another type is still the same; it may be NULL."""
    if kind in _LARGEST:
        return exp.EQ(this=_wide(value), expression=_wide(made))
    if kind is _T.BOOLEAN:
        return _is_word(value, _TRUTHS)
    if kind in _REAL:
        return _is_like(value, _NUMBER)
    if kind is _T.DATE or kind in _MOMENTS:
        return exp.and_(_is_like(value, _MOMENT), is_given(made))
    return is_given(made)


def _unsure(kind: exp.DType, value: exp.Expr) -> exp.Expr:
    """That a value of no use to Hive may be one to others."""
    if kind in _LARGEST:
        wide, limit = _wide(value), _LARGEST[kind]
        within = fill("w >= -(a) AND w < a", w=wide, a=exp.Literal.number(limit))
        odd = exp.and_(is_null(wide), _is_like(value, _STARTS["number"]))
        return exp.or_(within, odd)
    if kind is _T.BOOLEAN:
        return _is_word(value, _WORDS)
    starts = "moment" if kind is _T.DATE or kind in _MOMENTS else "number"
    return _is_like(exp.Lower(this=_string(value)), _STARTS[starts])


def _wide(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("DECIMAL(38, 10)"))


def _make_sure(value: exp.Expr, kind: exp.DType) -> None:
    """Let a constant be written as Hive reads it: what it computes beforehand it does not check."""
    if value.find(exp.Literal) is None:
        return
    while isinstance(value, exp.Cast):
        value = value.this.unnest()
    literal, sign = (value.this, "-") if isinstance(value, exp.Neg) else (value, "")
    if isinstance(literal, exp.Literal) and not (sign and literal.is_string):
        known = _canonical(sign + literal.name, kind)
        if known is not None:
            literal.set("this", known.removeprefix(sign))
            return
    raise refused(f"the cast of a constant to {kind.value}")


def _canonical(text: str, kind: exp.DType) -> str | None:
    """A text that surely stands for a finite value of a kind, as Hive reads it; else None."""
    try:
        if kind is _T.DATE and re.fullmatch(_DAY, text):
            return datetime.date.fromisoformat(text).isoformat()
        if kind in _MOMENTS and _LITERAL.fullmatch(text):
            found = datetime.datetime.fromisoformat(text)
            if found.tzinfo is not None:
                found = found.astimezone(datetime.UTC)
            return found.replace(tzinfo=None).isoformat(sep=" ")
        if kind in _LARGEST and re.fullmatch("-?[0-9]{1,19}", text):
            return text if -_LARGEST[kind] <= int(text) < _LARGEST[kind] else None
        if kind is _T.BOOLEAN:
            return text if text in _TRUTHS else None
        if kind in _EXACT and Decimal(text).is_finite():
            return text
    except (ValueError, InvalidOperation):
        return None
    return None


def _endless(node: exp.Cast) -> exp.Expr:
    """A number that may be infinite, or none, whose words are others in Hive."""
    found = exp.Case(this=node.this.copy())
    for ours, theirs in (("inf", "Infinity"), ("-inf", "-Infinity"), ("nan", "NaN")):
        value = exp.Cast(this=exp.Literal.string(theirs), to=node.to.copy())
        found = found.when(exp.Literal.string(ours), value, copy=False)
    return found.else_(node.copy())
