"""Finds an index by its name, and checks that a new name is free.

Each index of a schema has one of its own; in PostgreSQL it is no relation's either.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Index, Table, TableName, View, fold
from journal.sql.unique_keys import unique_keys
from rewriter.context import RewriteContext
from rewriter.definitions.index_terms import default_name
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import check_database, is_in_temp_schema, position_of


def index_names(schema: str, context: RewriteContext) -> Iterator[str]:
    """The names in a schema that no further index may have."""
    shared = semantics_of(context.dialect).indexes_are_relations
    for found in context.catalog.relations.values():
        if fold(found.name.schema) == fold(schema):
            if shared:
                yield found.name.name
            if isinstance(found, Table):
                yield from (index.name for index in found.indexes)


def is_index_name(name: TableName, context: RewriteContext) -> bool:
    """True for a name that no further index may have."""
    return name.key[1] in map(fold, index_names(name.schema, context))


def check_index_name(name: TableName, node: exp.Expr | None, context: RewriteContext) -> None:
    """Raise DUPLICATE_TABLE if an index cannot be given a name."""
    if is_index_name(name, context):
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{name} exists already",
            advice="use another name, or IF NOT EXISTS",
            position=position_of(node),
        )


def check_moved_indexes(table: Table, node: exp.Expr | None, context: RewriteContext) -> None:
    """Raise DUPLICATE_TABLE if a table cannot bring its indexes to the schema it comes to."""
    for index in table.indexes:
        check_index_name(TableName(table.name.schema, index.name), node, context)


def with_index_names(table: Table, context: RewriteContext) -> Table:
    """A new table whose indexes all have names."""
    taken = set(index_names(table.name.schema, context)) if table.indexes else set()
    named = []
    for index in table.indexes:
        named.append(replace(index, name=index.name or default_name(table, index, taken)))
        taken.add(named[-1].name)
    return replace(table, indexes=tuple(named))


def find_index(node: exp.Table, context: RewriteContext) -> tuple[Table, Index] | None:
    """The index that a name means: a temporary table's first, where it gives no schema."""
    found = (context.catalog.index(name) for name in _candidates(node, context))
    return next((f for f in found if f is not None), None)


def find_key(node: exp.Table, context: RewriteContext) -> Table | None:
    """The table with a key, primary or UNIQUE, whose constraint a name means."""
    for name in _candidates(node, context):
        for table in context.catalog.tables():
            if fold(table.name.schema) == name.key[0] and name.key[1] in _constraints(table):
                return table
    return None


def _candidates(node: exp.Table, context: RewriteContext) -> Iterator[TableName]:
    own = context.catalog.own
    if own is not None and (not node.db or is_in_temp_schema(node)):
        yield TableName(own, node.name)
    check_database(node, context.catalog)
    for schema in [node.db] if node.db else context.path or (context.default_schema,):
        yield TableName(schema, node.name)


def unknown_index(node: exp.Table, context: RewriteContext) -> PalimpsestError:
    """The error for a name that is no index's, and perhaps something else's."""
    shown = ".".join(part.name for part in node.parts)
    for name in _candidates(node, context):
        other = context.catalog.get(name)
        if other is not None and semantics_of(context.dialect).indexes_are_relations:
            kind = "VIEW" if isinstance(other, View) else "TABLE"
            return PalimpsestError(
                Code.WRONG_OBJECT,
                f"{name} is not an index",
                advice=f"use the statement for a {kind}",
                position=position_of(node),
            )
        for table in context.catalog.tables():
            if fold(table.name.schema) == name.key[0] and name.key[1] in _constraints(table):
                return PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f"{name.name} is a constraint of {table.name}, and no index of its own",
                    advice=f"ALTER TABLE {table.name} DROP CONSTRAINT {name.name}",
                    position=position_of(node),
                )
    return PalimpsestError(
        Code.UNKNOWN_INDEX,
        f"there is no index {shown}",
        advice="system.indexes lists those there are; IF EXISTS passes over it",
        position=position_of(node),
    )


def _constraints(table: Table) -> set[str]:
    return {fold(key.name) for key in unique_keys(table) if key.index is None}
