"""Casts that Apache Hive would answer otherwise, checked by it as they are made.

    CAST(x AS INT)     the number, or an error where Hive would cut it, wrap it or say NULL
    CAST(x AS DATE)    the same: Hive takes '2024-01-02 and more' for a date
    TRY_CAST(..)       NULL for what is no value in any way of writing it; an error where that is
                       not sure
    CAST(x AS STRING)  an error for doubles, which Hive writes another way

Pure.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from journal.stores.hive.refused import only_if, refused

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
_WORDS = ("t", "f", "y", "n", "yes", "no", "1", "0", "on", "off")


def checked(node: exp.Expr) -> exp.Expr | None:
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
    holds = exp.Coalesce(this=_holds(kind, value, made), expressions=[exp.false()])
    empty = exp.Is(this=value.copy(), expression=exp.Null())
    if not node.args.get("safe"):
        return only_if(exp.or_(empty, holds), made)
    # What surely is no value gives NULL; anything else is no answer at all.
    unsure = exp.Coalesce(this=_unsure(kind, value), expressions=[exp.false()])
    known = exp.or_(holds, exp.Not(this=exp.paren(unsure)))
    return only_if(known, exp.Case().when(holds.copy(), made))


def _string(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("STRING"))


def _looks(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=_string(value), expression=exp.Literal.string(pattern))


def _text(value: exp.Expr) -> exp.Expr:
    """Text of a value whose kind the server knows."""
    kind = exp.Anonymous(this="typeof", expressions=[value.copy()])
    both = exp.Anonymous(
        this="concat_ws", expressions=[exp.Literal.string(" "), kind, _string(value)]
    )
    others = exp.Literal.string("^(double|float|binary)")
    known = exp.Not(this=exp.paren(exp.RegexpLike(this=both, expression=others)))
    is_truth = exp.EQ(this=kind.copy(), expression=exp.Literal.string("boolean"))
    made = exp.Case().when(is_truth, exp.Lower(this=_string(value)))
    return only_if(known, made.else_(_string(value)))


def _holds(kind: exp.DType, value: exp.Expr, made: exp.Expr) -> exp.Expr:
    """That a value in another type is still the same; it may be NULL."""
    there = exp.Not(this=exp.Is(this=made.copy(), expression=exp.Null()))
    if kind in _LARGEST:
        return exp.EQ(this=_wide(value), expression=_wide(made))
    if kind is _T.BOOLEAN:
        known = [exp.Literal.string("true"), exp.Literal.string("false")]
        return exp.In(this=exp.Lower(this=_string(value)), expressions=known)
    if kind in _REAL:
        return _looks(value, _NUMBER)
    if kind is _T.DATE or kind in _MOMENTS:
        return exp.and_(_looks(value, _MOMENT), there)
    return there


def _unsure(kind: exp.DType, value: exp.Expr) -> exp.Expr:
    """That a value of no use to Hive may be one to others."""
    if kind in _LARGEST:
        limit = exp.Literal.number(_LARGEST[kind])
        low = exp.GTE(this=_wide(value), expression=exp.Neg(this=limit))
        high = exp.LT(this=_wide(value), expression=limit.copy())
        odd = exp.and_(
            exp.Is(this=_wide(value), expression=exp.Null()), _looks(value, _STARTS["number"])
        )
        return exp.or_(exp.and_(low, high), odd)
    if kind is _T.BOOLEAN:
        known = [exp.Literal.string(word) for word in _WORDS]
        return exp.In(this=exp.Lower(this=_string(value)), expressions=known)
    if kind is _T.DATE or kind in _MOMENTS:
        return _looks(exp.Lower(this=_string(value)), _STARTS["moment"])
    return _looks(exp.Lower(this=_string(value)), _STARTS["number"])


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
            return text if text in {"true", "false"} else None
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
