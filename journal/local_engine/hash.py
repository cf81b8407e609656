"""Hashes every value of a row for its checksum.

DuckDB's own hash takes 0.0 for -0.0, and an empty list for NULL or for a list of NULLs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sqlglot import exp

from journal.sql.relations import column

_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)


def row_hash(fields: Iterable[tuple[str, str]], more: Iterable[exp.Expr], of: str) -> exp.Expr:
    """The hash of a row of relation ``of``: fields by name and type, and further values."""
    values: list[exp.Expr] = []
    for name, kind in fields:
        values.append(column(name, of))
        if _is_nested(kind):
            values.append(exp.cast(column(name, of), "VARCHAR", dialect="duckdb"))
        elif exp.DataType.build(kind, dialect="duckdb").is_type(*_FLOATS):
            values.append(exp.Anonymous(this="signbit", expressions=[column(name, of)]))
    return exp.Anonymous(this="hash", expressions=[*values, *more])


@lru_cache(maxsize=4096)
def _is_nested(kind: str) -> bool:
    """True for types of which a value holds values of others."""
    found = exp.DataType.build(kind, dialect="duckdb")
    return found.this == exp.DType.VARIANT or len(list(found.find_all(exp.DataType))) > 1
