"""Constants of PostgreSQL's SQL as the canonical dialect writes them for a column's type. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql import bytea
from journal.sql.array_text import array_of_text
from journal.sql.interval_text import plain_interval
from journal.sql.moment_text import AS_POSTGRES, iso_moment

MOMENTS = ("DATE", "TIMESTAMP")
"""How the names of types begin whose constants are dates."""


def typed_constant(value: exp.Expr, kind: str) -> exp.Expr:
    """A value for a column of the type ``kind``: texts of bytes, arrays, dates as they mean.

    Raises CONVERSION for a text that begins as one and is none, OUT_OF_RANGE for no such day.
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
    elif kind == "INTERVAL":
        text = plain_interval(value.name)
    return value if text is None else exp.Literal.string(text)


def moment_of_word(text: str, kind: str) -> exp.Expr | None:
    """What ``now``, ``today`` and their like mean as a value of a type; None for other texts."""
    word = text.strip().lower()
    if word == "epoch":
        return exp.Literal.string("1970-01-01" if kind == "DATE" else "1970-01-01 00:00:00+00")
    found = _WORDS.get(word)
    return None if found is None else exp.cast(found.copy(), kind, dialect="duckdb")


_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
_WORDS: dict[str, exp.Expr] = {
    "now": exp.CurrentTimestamp(),
    "today": exp.CurrentDate(),
    "tomorrow": exp.Add(this=exp.CurrentDate(), expression=_DAY),
    "yesterday": exp.Sub(this=exp.CurrentDate(), expression=_DAY),
}
