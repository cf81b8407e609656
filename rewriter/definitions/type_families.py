"""Families of types: a mask of one type holds for all types of its family. Pure."""

from __future__ import annotations

from sqlglot import exp

TEXT = "text"
_FAMILIES = (
    ("number", exp.DataType.NUMERIC_TYPES),
    (TEXT, exp.DataType.TEXT_TYPES),
    ("time of day", {exp.DType.TIME, exp.DType.TIMETZ}),
    ("date", exp.DataType.TEMPORAL_TYPES),
)


def type_family(type_text: str) -> str:
    """The family of a type of DuckDB: text, number, date (timestamps too), else itself.

    >>> type_family("DECIMAL(10, 2)"), type_family("TIMESTAMPTZ"), type_family("UUID")
    ('number', 'date', 'UUID')
    """
    kind = exp.DataType.build(type_text, dialect="duckdb")
    for name, kinds in _FAMILIES:
        if kind.this in kinds:
            return name
    return str(kind.sql(dialect="duckdb"))
