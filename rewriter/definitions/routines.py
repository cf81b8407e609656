"""Finds functions in PL/pgSQL, and the triggers that call them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.named_definitions import Routine
from journal.model.schema import CatalogSnapshot, Table, TableName, fold
from journal.model.triggers import Trigger
from rewriter.context import RewriteContext


def known_routine(name: TableName, catalog: CatalogSnapshot) -> Routine | None:
    """The function of a name with its schema."""
    found = catalog.definitions.get(("routine", *name.key))
    return found if isinstance(found, Routine) else None


def named_routine(node: exp.Table, context: RewriteContext) -> Routine | None:
    """The function that a client's name means."""
    schemas = [node.db] if node.db else [*context.path, context.default_schema]
    if not node.db:
        schemas.append(context.catalog.home)
    for schema in schemas:
        found = known_routine(TableName(schema, node.name), context.catalog)
        if found is not None:
            return found
    return None


def function_of(trigger: Trigger, catalog: CatalogSnapshot) -> Routine | None:
    """The function that a trigger calls."""
    return known_routine(TableName(*trigger.function), catalog)


def callers_of(routine: Routine, catalog: CatalogSnapshot) -> Iterator[tuple[Table, Trigger]]:
    """The triggers that call a function, with their tables."""
    for table in catalog.tables():
        for trigger in table.triggers:
            if tuple(map(fold, trigger.function)) == routine.name.key:
                yield table, trigger
