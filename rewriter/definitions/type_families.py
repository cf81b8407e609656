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
    if type_text.upper() == "BIGNUM":
        return "number"
    kind = exp.DataType.build(type_text, dialect="duckdb")
    for name, kinds in _FAMILIES:
        if kind.this in kinds:
            return name
    return str(kind.sql(dialect="duckdb"))


_ASSIGNED = {
    "time of day": frozenset({"time of day", "INTERVAL"}),
    "date": frozenset({"date", "time of day"}),
    "INTERVAL": frozenset({"INTERVAL", "time of day"}),
}
"""The families whose types a value becomes without a cast, as PostgreSQL has it."""


def is_assigned(old: str, new: str) -> bool:
    """True where values of a type become those of another without a cast being written.

    Anything becomes a text, but addresses, whose texts have a mask then; a text becomes nothing
    else.

    >>> is_assigned("INTEGER", "DECIMAL(9, 2)"), is_assigned("INTEGER", "BOOLEAN")
    (True, False)
    """
    if old.endswith("[]") and new.endswith("[]"):
        return is_assigned(old.removesuffix("[]"), new.removesuffix("[]"))
    before, after = type_family(old), type_family(new)
    if before.startswith("INET") and after == TEXT:
        return False
    if after == TEXT or after in _ASSIGNED.get(before, ()):
        kinds = (exp.DataType.build(t, dialect="duckdb").this for t in (old, new))
        # A day has no time, and a time no day.
        return after != "time of day" or before != "date" or exp.DType.DATE not in set(kinds)
    return before == after
