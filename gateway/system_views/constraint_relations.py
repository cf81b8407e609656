"""What ``information_schema`` says of CHECKs, of the columns of constraints, and of character sets.

The rows are those of the SQL standard, over the logical tables of a catalog. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.system_views.source import SystemViewSource, tables_of
from journal.model.schema import Table
from journal.sql.sql import expression
from journal.sql.unique_keys import logical_text
from rewriter.definitions.descriptions import constraint_rows

Row = tuple[str | None, ...]
_CONSTRAINT = ("constraint_catalog", "constraint_schema", "constraint_name")
_TABLE = ("table_catalog", "table_schema", "table_name")
_SETS = (
    *("character_set_catalog", "character_set_schema", "character_set_name"),
    *("character_repertoire", "form_of_use"),
    *("default_collate_catalog", "default_collate_schema", "default_collate_name"),
)


def _character_sets(seen: SystemViewSource) -> Iterator[Row]:
    yield (None, None, "UTF8", "UCS", "UTF8", seen.catalog.database, None, None)


def _checks(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for check in table.checks:
            place = (seen.catalog.database, table.name.schema, check.name)
            yield (*place, f"(({logical_text(table, check.expression)}))")


def _columns(seen: SystemViewSource) -> Iterator[Row]:
    for table in tables_of(seen):
        for owner, columns, name in _columns_of(seen, table):
            place = (seen.catalog.database, owner.name.schema, owner.name.name)
            constraint = (seen.catalog.database, table.name.schema, name)
            yield from ((*place, column, *constraint) for column in columns)


def _columns_of(seen: SystemViewSource, table: Table) -> Iterator[tuple[Table, list[str], str]]:
    """Whose columns a table's constraints are about: a foreign key about those it refers to."""
    for kind, name, columns in constraint_rows(table):
        if kind in {"PRIMARY KEY", "UNIQUE"}:
            yield table, list(columns), name
    for check in table.checks:
        used = {node.name for node in expression(check.expression).find_all(exp.Column)}
        yield table, [c.name for c in table.columns if c.physical in used], check.name
    for reference in seen.catalog.references.get(table.id, ()):
        if reference.child.id == table.id:
            parent = reference.parent
            names = [parent.by_physical(p).name for p in reference.key.parent_columns]
            yield parent, names, reference.key.name


def _texts(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


CONSTRAINT_RELATIONS: dict[str, tuple[Any, Callable[[SystemViewSource], Iterator[Any]]]] = {
    "info_character_sets": (_texts(*_SETS), _character_sets),
    "info_check_constraints": (_texts(*_CONSTRAINT, "check_clause"), _checks),
    "info_constraint_columns": (_texts(*_TABLE, "column_name", *_CONSTRAINT), _columns),
}
