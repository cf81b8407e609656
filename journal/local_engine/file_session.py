"""A DuckDB in memory that reads and writes the files of clients for stores that do not.

It holds no journal and none of a client's tables. What does not fit its memory goes into a folder
that only this user can read, and that goes with it, or with its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from sqlglot import exp

from journal.local_engine.exporting import export_rows
from journal.local_engine.in_memory import connect_in_memory
from journal.local_engine.scratch import scratch
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Export, Query
from journal.sql.sql import named_table

_ROWS = "exported_rows"


@contextmanager
def file_session(zone: str | None) -> Iterator[DuckDBSession]:
    """A session for the block, which reads and writes timestamps in a time zone."""
    with scratch() as folder:
        connection = connect_in_memory(folder)
        try:
            session = DuckDBSession(connection, folder)
            session.use_zone(zone)
            yield session
        finally:
            connection.close()


def write_batches(
    session: DuckDBSession,
    batches: Iterator[pa.RecordBatch],
    export: Export,
    columns: Sequence[exp.Expr] = (),
) -> int:
    """Write rows that another store gives to the file of ``export``; how many they were.

    ``columns`` are what is written of a row ``r``, all of it unless they are given.

    Raises FILE_ACCESS where no file can lie, and DATA for a number that needs more digits behind
    the point than those before it.
    """
    first = next(batches)
    schema = first.schema

    def alike() -> Iterator[pa.RecordBatch]:
        yield first
        for batch in batches:
            yield batch if batch.schema == schema else batch.cast(schema)

    session.show_arrow(_ROWS, pa.RecordBatchReader.from_batches(schema, alike()))
    query = Query.of(exp.select(*(columns or [exp.Star()])).from_(named_table(_ROWS, "r")))
    local = Export(query, export.path, export.form, export.options, export.is_folder)
    try:
        return export_rows(session, local, {})
    except pa.ArrowInvalid as error:
        raise PalimpsestError(
            Code.DATA,
            f"the rows for {export.path} differ in type: {error}",
            advice="cast the column in the query, for example to DECIMAL(38, 10)",
        ) from error
