"""Constants of PostgreSQL's SQL as the canonical dialect writes them for a column's type. Pure."""

from __future__ import annotations

import math
import re
import struct

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql import bytea
from journal.sql.array_text import array_of_text
from journal.sql.interval_text import plain_interval
from journal.sql.moment_clock import is_zone
from journal.sql.moment_text import AS_POSTGRES, iso_moment, iso_time, may_be_moment

MOMENTS = ("DATE", "TIMESTAMP")
"""How the names of types begin whose constants are dates."""
_TIMES_OF_ZONES = frozenset({"TIMETZ", "TIME WITH TIME ZONE"})
_REALS = frozenset({"FLOAT", "REAL"})
_LIKE_UUID = re.compile(r"\s*\{?[0-9a-f-]{32,50}\}?\s*", re.I)
_PLAIN_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_UUID = re.compile(r"(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}", re.I)
_LIKE_ISO_INTERVAL = re.compile(r"\s*P(?=[\dT-])[\d.YMWDTHS-]+\s*", re.I)
_TRUTHS = (
    *((True, word) for word in ("true", "yes", "on", "1")),
    *((False, word) for word in ("false", "no", "off", "0")),
)
_PLAIN_TRUTHS = frozenset({"true", "false", "t", "f", "1", "0"})
"""Those that every store reads."""
_LIKE_FLOAT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)e[+-]?\d{2,}\s*", re.I)
_LIKE_FRACTION = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+|\d+\.?\d*e[+-]?\d+)\s*", re.I)
_WHOLE = {"SMALLINT": "smallint", "INT": "integer", "INTEGER": "integer", "BIGINT": "bigint"}

_ZONED_TIME = re.compile(r"\s*\d{4}-\d\d-\d\d +\d{1,2}:\d\d(:\d\d(\.\d+)?)?\s*[+-]\d\d(:?\d\d)?\s*")
"""A moment with its offset, which as a time of day keeps it."""


def reads_otherwise(text: str) -> bool:
    """True for the text of a constant that stores may read otherwise than PostgreSQL."""
    return (
        may_be_moment(text)
        or _ZONED_TIME.fullmatch(text) is not None
        or (_LIKE_UUID.fullmatch(text) is not None and not _PLAIN_UUID.fullmatch(text))
        or _LIKE_FRACTION.fullmatch(text) is not None
        or _LIKE_ISO_INTERVAL.fullmatch(text) is not None
        or (truth_of(text) is not None and text not in _PLAIN_TRUTHS)
    )


def truth_of(text: str) -> bool | None:
    """What a text means as a BOOLEAN: any beginning of a word that tells; None for others.

    >>> truth_of(" ye "), truth_of("of"), truth_of("o")
    (True, False, None)
    """
    word = text.strip().lower()
    found = {truth for truth, known in _TRUTHS if word and known.startswith(word)}
    return found.pop() if len(found) == 1 else None


def typed_constant(value: exp.Expr, kind: str) -> exp.Expr:
    """A value for a column of the type ``kind``: texts of bytes, arrays, dates as they mean.

    Raises CONVERSION for a text that begins as one and is none, and for one with a fraction as a
    whole number, OUT_OF_RANGE for no such day and
    for a number that a floating-point type does not reach.
    """
    if kind == "BLOB":
        return bytea.converted(value)
    if isinstance(value, exp.Literal) and value.is_string and kind.endswith("]"):
        if value.name.lstrip().startswith("{"):
            return array_of_text(value.name, exp.DataType.build(kind, dialect="duckdb", udt=True))
    if AS_POSTGRES not in value.meta:
        return value
    text = None
    if kind.startswith(MOMENTS):
        word = moment_of_word(value.name, kind)
        if word is not None:
            return word
        text = iso_moment(value.name)
    elif kind in {"TIME", *_TIMES_OF_ZONES}:
        text = iso_time(value.name, has_zone=kind != "TIME")
    elif kind == "INTERVAL":
        text = plain_interval(value.name)
    elif kind == "BOOLEAN":
        truth = truth_of(value.name)
        text = None if truth is None else str(truth).lower()
    elif kind == "UUID" and _LIKE_UUID.fullmatch(value.name):
        text = _plain_uuid(value.name)
    elif kind in _WHOLE and _LIKE_FRACTION.fullmatch(value.name):
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid input syntax for type {_WHOLE[kind]}: "{value.name}"',
            advice="write a whole number, or cast a number",
        )
    elif kind in {"DOUBLE", *_REALS} and _LIKE_FLOAT.fullmatch(value.name):
        _check_range(value.name, is_real=kind in _REALS)
    return value if text is None else exp.Literal.string(text)


def _plain_uuid(text: str) -> str:
    """A UUID without braces, and with its usual hyphens."""
    bare = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    if not _UUID.fullmatch(bare):
        raise PalimpsestError(
            Code.CONVERSION,
            f'invalid input syntax for type uuid: "{text}"',
            advice="write it as 8-4-4-4-12 hexadecimal digits",
        )
    digits = bare.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _check_range(text: str, *, is_real: bool) -> None:
    number = float(text)
    if is_real:
        try:
            number = struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            number = math.inf
    is_zero = not text.lower().partition("e")[0].strip(" +-0.")
    if math.isinf(number) or (number == 0 and not is_zero):
        name = "real" if is_real else "double precision"
        raise PalimpsestError(
            Code.OUT_OF_RANGE,
            f'"{text}" is out of range for type {name}',
            advice="check the value, or use NUMERIC",
        )


def moment_of_word(text: str, kind: str) -> exp.Expr | None:
    """What ``now``, ``today`` and their like mean as a value of a type; None for other texts.

    Of a TIMESTAMP the zone in ``tomorrow EST`` says nothing.
    """
    timed = _day_and_time(text.strip().lower()) if kind.startswith("TIMESTAMP") else None
    if timed is not None:
        return exp.cast(timed, kind, dialect="duckdb")
    word, _, zone = text.strip().lower().partition(" ")
    has_zone = kind.partition("(")[0] != "TIMESTAMP" or "ZONE" in kind
    if zone and (has_zone or not is_zone(zone.strip())):
        return None
    if word == "epoch":
        return exp.Literal.string("1970-01-01" if kind == "DATE" else "1970-01-01 00:00:00+00")
    found = _WORDS.get(word)
    return None if found is None else exp.cast(found.copy(), kind, dialect="duckdb")


def _day_and_time(text: str) -> exp.Expr | None:
    """The moment of ``tomorrow 16:00`` or ``16:00 tomorrow``; None for other texts."""
    words = text.split()
    named = [word for word in words if word in _DAYS]
    clocks = [word for word in words if _CLOCK.fullmatch(word)]
    if len(words) != len(named) + len(clocks) or len(named) != 1 or len(clocks) != 1:
        return None
    day = exp.cast(_WORDS[named[0]].copy(), "TIMESTAMP", dialect="duckdb")
    time = exp.cast(exp.Literal.string(clocks[0]), "INTERVAL", dialect="duckdb")
    return exp.paren(exp.Add(this=day, expression=time), copy=False)


_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?")
_DAYS = frozenset({"today", "tomorrow", "yesterday"})
_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
_WORDS: dict[str, exp.Expr] = {
    "now": exp.CurrentTimestamp(),
    "today": exp.CurrentDate(),
    "tomorrow": exp.Add(this=exp.CurrentDate(), expression=_DAY),
    "yesterday": exp.Sub(this=exp.CurrentDate(), expression=_DAY),
}
