"""The rows a statement appends, on their way into its transaction's buffer.

Few rows are held in memory and go to the head at commit; many are written to a segment file at
once, which stays unlisted until the transaction commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.layout import (
    conformed,
    fields_of,
    segment_query,
    segment_rows,
)
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.store_session import MemoryRows, Parameters, RowSet, StagedRows
from journal.sql.counting import count_rows
from journal.sql.held_rows import memory_rows

if TYPE_CHECKING:
    from journal.stores.embedded.journal import Journal

_BATCH_ROWS = 1 << 16


def append_rows(
    journal: Journal,
    session: DuckDBSession,
    table: Table,
    query: Query,
    parameters: Parameters,
    memory_rows_max: int,
) -> RowSet | None:
    """The rows of ``query`` for the journal of ``table``; None when there are none."""
    query = _conformed(table, query)
    reader = session.arrow_reader(query, parameters)
    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in reader:
        batches.append(batch)
        held += batch.num_rows
        if held > memory_rows_max:
            reader.close()
            return _staged(journal, session, table, query, parameters)
    if held == 0:
        return None
    rows = pa.Table.from_batches(batches)
    return memory_rows(rows, table)


def few_rows(
    session: DuckDBSession, table: Table, query: Query, parameters: Parameters
) -> MemoryRows | None:
    """As ``append_rows``, for a query that is known to have few rows."""
    rows = session.arrow(_conformed(table, query), parameters)
    if not rows.num_rows:
        return None
    return memory_rows(rows, table)


def _conformed(table: Table, query: Query) -> Query:
    """The query in exactly the types of the journal's columns; kept, since plans are reused."""
    return query.once("conformed", lambda: conformed(table, query))


def _staged(
    journal: Journal, session: DuckDBSession, table: Table, query: Query, parameters: Parameters
) -> StagedRows:
    assert isinstance(query.ast, exp.Query)
    sealed = segment_query(table, query.ast)
    files = journal.warehouse.write_segment(session, table, sealed, parameters)
    journal.staged.update(f.path for f in files)
    fields = fields_of(table)
    source = segment_rows(table, [f.path for f in files], fields, journal.root).subquery("w")
    return StagedRows(files, fields, count_rows(session, table, source))
