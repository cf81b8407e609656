"""Journal rows in memory: built from a statement's rows, and shown to queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.store_session import MemoryRows, count_kinds
from journal.sql.row_layout import fields_of, rows_in_layout


def memory_rows(rows: pa.Table, table: Table) -> MemoryRows:
    """Journal rows of a table as it is now, held in memory."""
    return MemoryRows(rows, count_kinds(rows, table), fields_of(table))


def combine_rows(rows: Sequence[MemoryRows]) -> pa.Table:
    """Journal rows of the same columns as one table."""
    # Rows written under other time zones differ in the zone that their types name.
    schema = rows[0].rows.schema
    parts = [r.rows if r.rows.schema.equals(schema) else r.rows.cast(schema) for r in rows]
    return pa.concat_tables(parts) if len(parts) > 1 else parts[0]


def shown_in_parts(
    table: Table,
    name: str,
    memory: Iterable[MemoryRows],
    show: Callable[[str, Fields, pa.Table], None],
) -> list[exp.Query]:
    """Rows in memory, in the present columns of their table, once they are shown by columns.

    ``show`` lets queries read rows that were written as some fields under a name.
    """
    groups: dict[Fields, list[pa.Table]] = {}
    for rows in memory:
        groups.setdefault(rows.fields or fields_of(table), []).append(rows.rows)
    parts: list[exp.Query] = []
    for index, (fields, tables) in enumerate(groups.items()):
        show(f"{name}_{index}", fields, pa.concat_tables(tables))
        parts.append(rows_in_layout(table, exp.to_table(f"{name}_{index}"), fields))
    return parts
