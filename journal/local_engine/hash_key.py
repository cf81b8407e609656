"""Passes the key of keyed hashes to DuckDB as a variable, so no statement shows it.

So neither an error that quotes a statement nor a unit of work has the key in its SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlglot import exp

_NAME = "palimpsest_hash_key"


def hash_key() -> exp.Expr:
    """The key, in a block of ``bound_hash_key``; NULL outside."""
    return exp.Anonymous(this="getvariable", expressions=[exp.Literal.string(_NAME)])


@contextmanager
def bound_hash_key(run: Callable[[str, list[str]], object], key: str | None) -> Iterator[None]:
    """Let SQL of one connection, which ``run`` executes with parameters, read a key; None: no SQL
    needs one.
    """
    if key is None:
        yield
        return
    run(f"SET VARIABLE {_NAME} = ?", [key])
    try:
        yield
    finally:
        run(f"RESET VARIABLE {_NAME}", [])
