"""What a statement that defines something must know of the store: column types, dropped tables.

Each function makes a callback for the rewriter, bound to one statement's stay in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from journal.catalog import apply
from journal.plan import Query
from journal.schema import Table, TableName
from journal.statement import Statement
from rewriter.context import Describe, Dropped


def describer(statement: Statement, parameters: Mapping[str, Any]) -> Describe:
    """Finds the columns of a query by asking the store, which does not run it."""

    def describe(query: Any, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
        statement.show_buffers(tables)
        found = Query.of(query)
        # Numbers that only the run will know are versions; any stands for their type.
        snapshot = statement.transaction.snapshot.version
        bound = {name: parameters.get(name, snapshot) for name in found.parameters}
        return tuple((c.name, c.type) for c in statement.session.describe(found, bound))

    return describe


def dropped_tables(statement: Statement) -> Dropped:
    """Finds the table that had a name last and is gone, in the transaction itself or before it."""

    def dropped(name: TableName) -> Table | None:
        transaction = statement.transaction
        snapshot = transaction.snapshot
        catalogs = [*snapshot.catalogs_until(snapshot.version), snapshot.catalog]
        for _, change in transaction.changes():
            catalogs.append(apply(catalogs[-1], change))
        renamed: Table | None = None
        for catalog in reversed(catalogs):
            found = catalog.get(name)
            if not isinstance(found, Table):
                continue
            if transaction.catalog.by_id(found.id) is None:
                return found
            renamed = renamed or found
        return renamed

    return dropped
