"""Constants of PostgreSQL's SQL as the canonical dialect writes them for a column's type. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql import bytea
from journal.sql.array_text import array_of_text
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
    if AS_POSTGRES in value.meta and kind.startswith(MOMENTS):
        text = iso_moment(value.name)
        return value if text is None else exp.Literal.string(text)
    return value
