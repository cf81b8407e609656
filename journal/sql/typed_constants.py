"""Constants of PostgreSQL's SQL as the canonical dialect writes them for a column's type. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql import bytea
from journal.sql.array_text import array_of_text


def typed_constant(value: exp.Expr, kind: str) -> exp.Expr:
    """A value for a column of the type ``kind``: texts of bytes and arrays as what they mean.

    Raises CONVERSION for a text that begins as one and is none.
    """
    if kind == "BLOB":
        return bytea.converted(value)
    if isinstance(value, exp.Literal) and value.is_string and kind.endswith("]"):
        if value.name.lstrip().startswith("{"):
            return array_of_text(value.name, exp.DataType.build(kind, dialect="duckdb", udt=True))
    return value
