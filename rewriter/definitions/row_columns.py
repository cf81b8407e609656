"""Resolves column names where an expression sees one row: CHECK, index, USING. Pure.

``t.c.f`` may be field f of column c of table t, and ``c.f`` too; a table's name goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.model.schema import Index, TableName, fold
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.sql import expression
from rewriter.definitions.canonical_texts import canonical_text


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


def over_physical(
    value: exp.Expr,
    table: TableName,
    known: Collection[str],
    physical: Callable[[str, exp.Column], str],
) -> exp.Expr:
    """A copy of an expression over one row, with physical names for those of columns.

    ``known`` are the folded names of the table's columns; ``physical`` gives that of a name, which
    stands in a node, and raises for what is no column.
    """
    held = exp.Paren(this=value.copy())
    for used in list(held.find_all(exp.Column)):
        name, *fields = column_path(used, table, known) or [used.sql()]
        used.replace(with_fields(exp.Column(this=ident(physical(name, used))), fields))
    found: exp.Expr = held.this
    return found


def renamed_columns(index: Index, names: Mapping[str, str]) -> Index:
    """An index whose columns have other physical names; those not in ``names`` keep theirs."""

    def renamed(text: str) -> str:
        value = exp.Paren(this=expression(text))
        for used in value.find_all(exp.Column):
            used.set("this", ident(names.get(used.name, used.name)))
        return canonical_text(value.this)

    def of(columns: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in columns)

    terms = tuple(
        replace(t, text=names.get(t.text, t.text) if t.is_column else renamed(t.text))
        for t in index.terms
    )
    predicate = None if index.predicate is None else renamed(index.predicate)
    return replace(
        index,
        terms=terms,
        columns=of(index.columns),
        included=of(index.included),
        predicate=predicate,
    )


def with_fields(value: exp.Expr, fields: Collection[str]) -> exp.Expr:
    """A field of a field .. of a struct."""
    for name in fields:
        value = exp.StructExtract(this=value, expression=exp.Literal.string(name))
    return value


def columns_of(condition: str) -> set[str]:
    """Physical columns that a CHECK names."""
    return {c.name for c in dialects.stored(condition).find_all(exp.Column)}
