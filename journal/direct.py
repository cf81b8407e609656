"""Writes that run inside the commit section itself: few rows, found by key, committed at once.

They skip buffer and conflict check, because nobody else can commit meanwhile. What they wrote is
kept in memory where the store can say it at once; otherwise it is read back, but only when an older
transaction is open that may conflict with it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from journal import plain_rows
from journal.commit import Author
from journal.head_rows import insert_into_head, journal_names
from journal.plan import Query
from journal.relations import column, version_value
from journal.schema import CatalogSnapshot, Table
from journal.segment import RowCounts
from journal.state import JournalState
from journal.stores import duckdb_layout as layout
from journal.stores.base import MemoryRows, Parameters, RowSet
from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_catalog import TransactionRow
from journal.version import Version

_ROWS_MAX = 1 << 16
"""More than any bounded statement writes."""


def append_direct(
    session: DuckDBSession,
    committed: JournalState,
    table: Table,
    query: Query,
    parameters: Parameters,
) -> tuple[int, MemoryRows | None]:
    """Append a query's rows to a table's head; how many they were, and they where that is cheap."""
    head = committed.tables[table.id].manifest.heads[-1]
    plain = plain_rows.is_plain(table)
    insert = query.__dict__.get("_insert")
    if insert is None or insert[0] != head:
        ast = insert_into_head(table.id, head, journal_names(table), query.ast)
        if plain:
            ast.set("returning", exp.Returning(expressions=plain_rows.outputs(table)))
        insert = query.__dict__["_insert"] = (head, Query(ast, query.parameters))
    session.execute(insert[1], parameters)
    if not plain:
        return int(session.fetch_many(1)[0][0]), None
    rows = plain_rows.of_values(session.fetch_many(_ROWS_MAX))
    assert len(rows) < _ROWS_MAX
    return len(rows), plain_rows.in_memory(table, rows) if rows else None


def head_rows_at(
    session: DuckDBSession,
    committed: JournalState,
    table_ids: Iterable[int],
    version: Version,
) -> dict[int, tuple[RowSet, ...]]:
    """The rows of one version in the newest heads, for the conflict checks of others."""
    found: dict[int, tuple[RowSet, ...]] = {}
    for table_id in table_ids:
        table = committed.catalog.by_id(table_id)
        assert table is not None
        head = committed.tables[table_id].manifest.heads[-1]
        number = version_value(table, exp.Literal.number(version))
        either = exp.or_(
            exp.EQ(this=column(table.format.version_column), expression=number),
            exp.EQ(this=column(table.format.subsequent_column), expression=number.copy()),
        )
        rows = exp.select("*").from_(layout.head_table(table_id, head)).where(either)
        found[table_id] = (MemoryRows(session.arrow(Query(rows, ()), {}), RowCounts()),)
    return found


def direct_row(
    version: Version,
    digest: str,
    message: str | None,
    author: Author,
    catalog: CatalogSnapshot,
    appended: Mapping[int, RowCounts],
) -> TransactionRow:
    """The transaction row of a statement that ran inside the commit section."""
    named = [str(t.name) for t in (catalog.by_id(i) for i in appended) if t is not None]
    rows = sum(counts.total for counts in appended.values())
    return TransactionRow(
        version, version, author.user, author.application, 1, digest, message, tuple(named), rows
    )
