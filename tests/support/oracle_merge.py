"""Merges two committed histories of the oracle by key, first committer wins; never commits.

What a transaction changed is found by comparing its version with the one it started from. Tables
without a key take part row by row: the row itself is its key, and only removals can conflict.
A change that leaves a row as it was is not seen here, so logic files avoid such changes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import duckdb
from sqlglot import exp

Row: TypeAlias = tuple[object, ...]


class ConflictFound(Exception):
    """Two transactions changed the same key."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the oracle and the positions of its key columns."""

    schema: str
    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]


def merge_into(root: duckdb.DuckDBPyConnection, *, base: str, own: str, target: str) -> None:
    """Apply to `target` what `own` changed since `base`; raise ConflictFound on overlap."""
    for table in tables_of(root, own):
        contents = [_rows(root, version, table) for version in (base, own, target)]
        if table.key:
            removed, added = _keyed_changes(table, *contents)
        else:
            removed, added = _loose_changes(*contents)
        _apply(root, target, table, removed, added)


def tables_of(root: duckdb.DuckDBPyConnection, version: str) -> list[Table]:
    """Return the tables of a version with their columns and primary keys."""
    columns = root.execute(
        "SELECT schema_name, table_name, list(column_name ORDER BY column_index) "
        "FROM duckdb_columns() WHERE database_name = ? AND (schema_name, table_name) IN "
        "(SELECT (schema_name, table_name) FROM duckdb_tables() WHERE database_name = ?) "
        "GROUP BY ALL ORDER BY ALL",
        [version, version],
    ).fetchall()
    keys = root.execute(
        "SELECT schema_name, table_name, constraint_column_names FROM duckdb_constraints() "
        "WHERE database_name = ? AND constraint_type = 'PRIMARY KEY'",
        [version],
    ).fetchall()
    by_table = {(schema, name): names for schema, name, names in keys}
    return [
        Table(
            schema,
            name,
            tuple(names),
            tuple(names.index(column) for column in by_table.get((schema, name), ())),
        )
        for schema, name, names in columns
    ]


def _keyed_changes(
    table: Table, base: list[Row], own: list[Row], target: list[Row]
) -> tuple[list[Row], list[Row]]:
    before, mine, theirs = (
        {tuple(row[position] for position in table.key): row for row in rows}
        for rows in (base, own, target)
    )
    changed = {key for key in before | mine if before.get(key) != mine.get(key)}
    overlap = [key for key in changed if before.get(key) != theirs.get(key)]
    if overlap:
        raise ConflictFound(f"{table.name} {overlap}")
    removed = [before[key] for key in changed if key in before]
    return removed, [mine[key] for key in changed if key in mine]


def _loose_changes(
    base: list[Row], own: list[Row], target: list[Row]
) -> tuple[list[Row], list[Row]]:
    before, mine, theirs = Counter(base), Counter(own), Counter(target)
    removed = before - mine
    if removed and removed & (before - theirs):
        raise ConflictFound("a row without a key was removed twice")
    return list(removed.elements()), list((mine - before).elements())


def _rows(root: duckdb.DuckDBPyConnection, version: str, table: Table) -> list[Row]:
    query = exp.select(*(exp.column(name, quoted=True) for name in table.columns))
    return root.execute(query.from_(_reference(version, table)).sql("duckdb")).fetchall()


def _apply(
    root: duckdb.DuckDBPyConnection,
    target: str,
    table: Table,
    removed: Sequence[Row],
    added: Sequence[Row],
) -> None:
    reference = _reference(target, table)
    for row in removed:
        places = table.key or tuple(range(len(table.columns)))
        conditions = [
            exp.NullSafeEQ(
                this=exp.column(table.columns[place], quoted=True), expression=exp.Placeholder()
            )
            for place in places
        ]
        delete = exp.delete(reference, where=exp.and_(*conditions))
        root.execute(delete.sql("duckdb"), [row[place] for place in places])
    for row in added:
        values = exp.Values(expressions=[exp.Tuple(expressions=[exp.Placeholder() for _ in row])])
        root.execute(exp.insert(values, reference).sql("duckdb"), list(row))


def _reference(version: str, table: Table) -> exp.Table:
    return exp.table_(table.name, db=table.schema, catalog=version, quoted=True)
