"""Values of generated columns in rows that begin, over whatever the other columns are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table
from journal.sql.relations import ident
from journal.sql.sql import cast, expression


def generated_value(table: Table, stored: Column, value: Callable[[str], exp.Expr]) -> exp.Expr:
    """The value of a generated column; ``value`` gives those of plain ones by physical name."""
    assert stored.generated is not None
    held = exp.Paren(this=expression(stored.generated))
    for used in list(held.find_all(exp.Column)):
        read = table.by_physical(used.name)
        inner = value(read.physical)
        if read.generated is not None:
            inner = generated_value(table, read, value)
        used.replace(inner)
    return cast(held, stored.type)


def present_value(table: Table, stored: Column) -> exp.Expr | None:
    """The expression of a generated column over the columns' present names; None for others."""
    if stored.generated is None:
        return None
    held = exp.Paren(this=expression(stored.generated))
    for used in held.find_all(exp.Column):
        used.set("this", ident(table.by_physical(used.name).name))
    found: exp.Expr = held.this
    return found


def with_generated(table: Table, written: frozenset[str]) -> frozenset[str]:
    """Columns that may differ once ``written`` do: those, and what is computed from them."""
    found = written
    while True:
        more = {c.physical for c in table.columns if c.generated and columns_read(c) & found}
        if more <= found:
            return found
        found |= more


def columns_read(stored: Column) -> frozenset[str]:
    """Physical names of the columns that a generated column is computed from, directly."""
    if stored.generated is None:
        return frozenset()
    return frozenset(c.name for c in expression(stored.generated).find_all(exp.Column))


def writable_columns(columns: Iterable[Column]) -> list[Column]:
    """The columns that a statement may give values for."""
    return [c for c in columns if c.generated is None]


def check_writable(table: Table, columns: Iterable[Column]) -> None:
    """Raise GENERATED_COLUMN if a statement gives a generated column a value."""
    for stored in columns:
        if stored.generated is not None:
            raise PalimpsestError(
                Code.GENERATED_COLUMN,
                f'column "{stored.name}" of {table.name} is generated and cannot be given a value',
                advice="leave it out: it is computed from the other columns",
            )


def copied_columns(source: exp.Expr, table: Table | None) -> list[str] | None:
    """What a COPY of a table or of some of its columns sends: as PostgreSQL, no generated ones.

    None for all there are; raises GENERATED_COLUMN for one that is named.
    """
    if table is None or all(c.generated is None for c in table.columns):
        return None
    if not isinstance(source, exp.Schema):
        return [c.name for c in writable_columns(table.columns)]
    for node in source.expressions:
        found = table.find(node.name)
        if found is not None and found.generated is not None:
            raise PalimpsestError(
                Code.GENERATED_COLUMN,
                f'column "{found.name}" is a generated column, which COPY leaves out',
                advice="write COPY (SELECT ..) TO for its values",
            )
    return None
