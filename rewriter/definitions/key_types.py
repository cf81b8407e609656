"""Which types a primary key may have: those whose equal values are stored alike.

What was erased is kept out by a hash of its key, and found in files by the key as it is stored. An
interval of a month equals one of thirty days and is stored otherwise, so it is refused, and so are
lists, structs and maps of what has several spellings. Other types are brought to one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column
from rewriter.name_resolution import position_of

_ZONED = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMETZ)
_NEVER = (exp.DType.INTERVAL,)
_ALONE = (exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def has_zone(kind: exp.DataType) -> bool:
    """True for instants, and for what holds them: a session's time zone decides what they show."""
    return any(part.is_type(*_ZONED) for part in kind.find_all(exp.DataType))


def check_key_types(columns: Iterable[Column], node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a key column of a type that can be no key."""
    for held in columns:
        if not held.type:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'the generated column "{held.name}" cannot be in a primary key without a type',
                advice=f"write {held.name} TYPE GENERATED ALWAYS AS (..), or make another key",
                position=position_of(node),
            )
        kind = exp.DataType.build(held.type, dialect="duckdb")
        inner = [part for part in kind.find_all(exp.DataType) if part is not kind]
        if kind.is_type(*_NEVER) or any(part.is_type(*_NEVER, *_ALONE) for part in inner):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'column "{held.name}" of type {held.type} cannot be in a primary key: its equal'
                " values are stored in several ways",
                advice="make the key of another column, or declare the table without one",
                position=position_of(node),
            )
