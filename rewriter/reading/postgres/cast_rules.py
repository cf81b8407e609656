"""Which values PostgreSQL casts to a type, and which it assigns to a column. Pure.

1::date, true::bigint                       such a cast does not exist: 42804
INSERT INTO t (n) VALUES (true)             nor such an assignment
INSERT INTO t (n) SELECT s FROM u           of texts to numbers only a cast that is written out

What is not known to be of a type is left to the store.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.type_names import type_name
from rewriter.reading.value_types import UNTOLD, ValueTypes

_NUMBERS = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT DECIMAL FLOAT REAL DOUBLE".split()
)
_TEXTS = frozenset("VARCHAR TEXT CHAR BPCHAR NVARCHAR".split())
_ZONED = frozenset({"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"})
_ZONED_TIMES = frozenset({"TIMETZ", "TIME WITH TIME ZONE"})
_FAMILIES = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(("TIMESTAMP", *_ZONED), "moment"),
    **dict.fromkeys(("TIME", *_ZONED_TIMES), "time"),
    **{kind: kind for kind in ("BOOLEAN", "DATE", "INTERVAL", "UUID", "BLOB", "JSON", "INET")},
}
_ASSIGNED = frozenset(
    {
        *(("DATE", "moment"), ("moment", "DATE"), ("moment", "time")),
        *(("time", "INTERVAL"), ("INTERVAL", "time")),
    }
)
"""From which family to which other one a value is assigned; to texts from all."""


def check_casts(tree: exp.Expr, types: ValueTypes) -> None:
    """Raise TYPE_MISMATCH for a cast that is written out and that PostgreSQL does not have."""
    sure = ValueTypes(types.context, guesses=False)
    for cast in tree.find_all(exp.Cast):
        if type(cast) is not exp.Cast or cast.this.is_string or isinstance(cast.this, exp.Null):
            continue
        kind, to = sure.of(cast.this), sure.of(cast)
        if kind.enum is None and to.enum is None and not is_cast(kind.kind, to.kind):
            names = f"{type_name(kind.kind or '')} to {type_name(to.kind or '')}"
            raise PalimpsestError(
                Code.TYPE_MISMATCH,
                f"cannot cast type {names}",
                advice="cast it to a text first, or compute the value",
                position=position_of(cast),
            )


def check_assigned(value: exp.Expr, column: Column, types: ValueTypes) -> None:
    """Raise TYPE_MISMATCH for a value of a type that a column does not take."""
    if value.is_string or column.declared is not None:
        return
    found = ValueTypes(types.context, guesses=False).of(value)
    if found.enum is None and not is_assigned(found.kind, column.type):
        raise PalimpsestError(
            Code.TYPE_MISMATCH,
            f'column "{column.name}" is of type {type_name(column.type)}'
            f" but expression is of type {type_name(found.kind or '')}",
            advice="cast the value to the column's type",
            position=position_of(value),
        )


def is_cast(kind: str | None, to: str | None) -> bool:
    """False for two types of which PostgreSQL casts none to the other.

    >>> is_cast("TEXT", "INT"), is_cast("INT", "BOOLEAN"), is_cast("BIGINT", "BOOLEAN")
    (True, True, False)
    """
    if is_assigned(kind, to):
        return True
    if kind is not None and to is not None and kind.endswith("[]") and to.endswith("[]"):
        return is_cast(kind[:-2], to[:-2])
    of, into = _family(kind), _family(to)
    if of == "text":
        return True
    if {of, into} == {"number", "BOOLEAN"}:
        return {kind, to} <= {"INT", "INTEGER", "BOOLEAN"}
    return of == "JSON" and into in {"number", "BOOLEAN"}


def is_assigned(kind: str | None, to: str | None) -> bool:
    """False for a type of which no value is assigned to a column of the other.

    >>> is_assigned("DATE", "TIMESTAMP"), is_assigned("TEXT", "INT"), is_assigned("INT[]", "TEXT")
    (True, False, True)
    """
    of, into = _family(kind), _family(to)
    if of is None or into is None or into == "text":
        return True
    if "array" in {of, into}:
        are_arrays = of == into and kind is not None and to is not None
        return are_arrays and is_assigned(str(kind)[:-2], str(to)[:-2])
    return of == into or (of, into) in _ASSIGNED


def _family(kind: str | None) -> str | None:
    if kind is None or UNTOLD in kind:
        return None
    if kind.endswith("[]"):
        return "array"
    return _FAMILIES.get(kind.partition("(")[0].strip())
