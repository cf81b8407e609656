"""What a column's name means where one row of one table is seen: in a CHECK, in USING. Pure.

``t.c.f`` may be field f of column c of table t, and ``c.f`` too; a table's name goes first.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from journal.model.schema import TableName, fold


def column_path(used: exp.Column, table: TableName, known: Collection[str]) -> list[str] | None:
    """The column's name and those of the fields in it; None where the row has no such column.

    ``known`` are the folded names of the table's columns.
    """
    names = [part.name for part in used.parts]
    folded = [fold(name) for name in names]
    for prefix in ([fold(table.schema), fold(table.name)], [fold(table.name)], []):
        rest = names[len(prefix) :]
        if folded[: len(prefix)] == prefix and rest and fold(rest[0]) in known:
            return rest
    return None


def with_fields(value: exp.Expr, fields: Collection[str]) -> exp.Expr:
    """A field of a field .. of a struct."""
    for name in fields:
        value = exp.StructExtract(this=value, expression=exp.Literal.string(name))
    return value
