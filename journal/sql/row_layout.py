"""Reads journal rows written under one layout of a table as rows of another.

Builds AST; reads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.model.segment import Fields, RowCounts
from journal.sql.builders import fill
from journal.sql.relations import column, ident, version_type
from journal.sql.sql import cast, data_type, expression

WRITTEN_AS = "palimpsest_written_as"
"""Where a cast of a value says which type the value was written with."""


def fields_of(table: Table) -> Fields:
    """Physical names and types of a table's journal rows."""
    return tuple((c.physical, c.type) for c in table.stored)


def journal_fields(table: Table, fields: Fields) -> Fields:
    """Names and types of all columns of journal rows that were written as ``fields``."""
    kind = version_type(table)
    return (*fields, *((name, kind) for name in table.ends))


def counted_kinds(table: Table) -> list[exp.Expr]:
    """The number of all rows of a journal, of open rows and of tombstones; see ``row_counts``."""
    open_only, tombstones = "COUNT(*) FILTER (WHERE e IS NULL)", "COUNT(*) FILTER (WHERE e = s)"
    start, end = (column(name) for name in table.ends)
    return [exp.Count(this=exp.Star()), fill(open_only, e=end), fill(tombstones, e=end, s=start)]


def row_counts(counted: Sequence[int]) -> RowCounts:
    """What the numbers of ``counted_kinds`` say."""
    total, opens, tombstones = counted
    return RowCounts(opens, total - opens - tombstones, tombstones)


def rows_in_layout(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """Rows of a relation with columns ``fields`` in the table's present columns and types."""
    written = dict(fields)
    outputs: list[exp.Expr] = []
    for stored in table.stored:
        kind = written.get(stored.physical)
        value: exp.Expr = column(stored.physical, "p")
        if kind is None:
            value = added_value(stored)
        elif kind != stored.type:
            # Rows that no reader of this layout sees may hold values that its type cannot hold.
            for later in types_since(stored, kind):
                value = exp.TryCast(this=value, to=data_type(later))
                value.meta[WRITTEN_AS] = kind
                kind = later
        outputs.append(exp.alias_(value, ident(stored.physical), copy=False))
    for name in table.ends:
        outputs.append(exp.alias_(column(name, "p"), ident(name), copy=False))
    return exp.select(*outputs, copy=False).from_(exp.alias_(source, "p", table=True), copy=False)


def added_value(stored: Column) -> exp.Expr:
    """What a column has in rows that were written before it was added, in its present type."""
    value: exp.Expr = expression(stored.initial or "NULL")
    for later in (*stored.earlier_types, stored.type):
        value = cast(value, later)
    return value


def written_rows(table: Table, source: exp.Expr, fields: Fields) -> exp.Select:
    """The rows of a relation with columns ``fields``, in those columns, as relation ``p``."""
    outputs = [column(name, "p") for name, _ in journal_fields(table, fields)]
    return exp.select(*outputs).from_(exp.alias_(source, "p", table=True))


def insert_fields(table: Table, target: exp.Table, fields: Fields, source: exp.Expr) -> exp.Insert:
    """An INSERT of journal rows that were written in these columns."""
    columns = [ident(name) for name, _ in journal_fields(table, fields)]
    return exp.Insert(this=exp.Schema(this=target, expressions=columns), expression=source)


def present_keys(table: Table, fields: Fields) -> list[exp.Expr]:
    """A table's key, of rows of relation ``p`` that were written as ``fields``, as it is now."""
    shown = rows_in_layout(table, exp.to_table("p"), fields).selects
    values = {e.alias_or_name: e.unalias() for e in shown}
    return [values[name].copy() for name in table.key]


def types_since(stored: Column, kind: str) -> tuple[str, ...]:
    """The types through which values written as ``kind`` became what the column shows now."""
    if kind not in stored.earlier_types:
        return (stored.type,)
    return (*stored.earlier_types[stored.earlier_types.index(kind) + 1 :], stored.type)
