"""Writes that run inside the commit section itself: few rows, found by key, committed at once.

They skip buffer and conflict check, because nobody else can commit meanwhile. What they wrote is
kept in memory where the store can say it at once; otherwise it is read back, but only when an older
transaction is open that may conflict with it later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts
from journal.model.store_session import MemoryRows, Parameters, RowSet
from journal.model.version import Version
from journal.sql.relations import column, version_value
from journal.stores.embedded.head_rows import insert_into_head
from journal.transactions import plain_rows

if TYPE_CHECKING:
    from journal.stores.embedded.statement import Statement

_ROWS_MAX = 1 << 16
"""More than any bounded statement writes."""


def append_to_head(
    session: DuckDBSession,
    head: Head,
    table: Table,
    query: Query,
    parameters: Parameters,
) -> tuple[int, list[plain_rows.JournalRow] | None]:
    """Append a query's rows to a table's head; how many they were, and they where that is cheap."""
    plain = plain_rows.is_plain(table)
    insert = query.memo.get("insert")
    if insert is None or insert[0] != head:
        ast = insert_into_head(table.id, head, table.journal_columns, query.ast)
        if plain:
            ast.set("returning", exp.Returning(expressions=plain_rows.outputs(table)))
        insert = query.memo["insert"] = (head, Query(ast, query.parameters))
    session.execute(insert[1], parameters)
    if not plain:
        return int(session.fetch_many(1)[0][0]), None
    rows = session.fetch_many(_ROWS_MAX)
    assert len(rows) < _ROWS_MAX
    return len(rows), plain_rows.of_values(table, rows)


def rows_at(statement: Statement, table_id: int, version: Version) -> tuple[RowSet, ...]:
    """The rows that an inline statement has appended, for the conflict checks of others."""
    if table_id in statement.appended:
        table, rows = statement.appended[table_id]
        return (plain_rows.in_memory(table, rows),)
    found = statement.committed.catalog.by_id(table_id)
    assert found is not None
    head = statement.committed.tables[table_id].manifest.heads[-1]
    number = version_value(found, exp.Literal.number(version))
    either = exp.or_(
        exp.EQ(this=column(found.format.version_column), expression=number),
        exp.EQ(this=column(found.format.subsequent_column), expression=number.copy()),
    )
    query = exp.select("*").from_(layout.head_table(table_id, head)).where(either)
    return (MemoryRows(statement.session.arrow(Query(query, ()), {}), RowCounts()),)
