"""Types of whole numbers, and of texts, between which a key column can change. Pure.

A whole number has the same hash, the same order and the same text under each of them, so rows, key
filters and suppressed keys stay as they were written (docs/adr/0154). So has a text, of whatever
length its column is.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.sql import data_type

_BOUNDS = {
    exp.DType.TINYINT: (-(2**7), 2**7 - 1),
    exp.DType.SMALLINT: (-(2**15), 2**15 - 1),
    exp.DType.INT: (-(2**31), 2**31 - 1),
    exp.DType.BIGINT: (-(2**63), 2**63 - 1),
    exp.DType.UTINYINT: (0, 2**8 - 1),
    exp.DType.USMALLINT: (0, 2**16 - 1),
    exp.DType.UINT: (0, 2**32 - 1),
}

_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)


def are_whole(*types: str) -> bool:
    """True if all are types of whole numbers that fit a BIGINT."""
    return all(data_type(text).this in _BOUNDS for text in types)


def are_texts(*types: str) -> bool:
    """True if all are texts, of whatever length: what is said of them is kept by a CHECK.

    >>> are_texts("TEXT(20)", "TEXT", "VARCHAR"), are_texts("TEXT", "INT")
    (True, False)
    """
    return all(data_type(text).this in _TEXTS for text in types)


def lost_bounds(old: str, new: str) -> tuple[int, int] | None:
    """The least and the greatest number of a new type; None if it holds all of an old one.

    >>> lost_bounds("INT", "BIGINT") is None, lost_bounds("BIGINT", "TINYINT")
    (True, (-128, 127))
    """
    (low, high), (least, greatest) = (_BOUNDS[data_type(text).this] for text in (old, new))
    return None if least <= low and high <= greatest else (least, greatest)


def is_cast_of(value: exp.Expr, name: str, kind: str) -> bool:
    """True for ``name::kind``, which USING often says of a column and its new type."""
    while isinstance(value, exp.Paren):
        value = value.this
    if not isinstance(value, exp.Cast) or isinstance(value, exp.TryCast):
        return False
    of, said = value.this, value.to.sql(dialect="duckdb")
    same = isinstance(of, exp.Column) and not of.table and fold(of.name) == fold(name)
    return same and said == kind and set(value.args) <= {"this", "to", "_type"}
