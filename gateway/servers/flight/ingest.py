"""Bulk loads of Flight clients: rows of Arrow become those of a table, all of them or none.

The batches are kept in a Parquet file that only this user can read, and loaded when all of them are
there, as a COPY FROM STDIN is. The table is made, replaced or appended to in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from gateway.servers.flight.sessions import FlightClient
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from gateway.session.bad_values import STREAM_PREFIX
from gateway.session.session import Session
from journal.local_engine.scratch import scratch
from journal.model.arrow_types import arrow_columns
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import TableName

_CREATE, _APPEND, _REPLACE = 1, 2, 3
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
}


def ingest(
    client: FlightClient,
    asked: wire.CommandStatementIngest,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> int:
    """Load a stream of batches; how many rows came.

    Raises what CREATE TABLE and COPY raise, and NOT_SUPPORTED for options of ours that are none.
    """
    if not asked.table or len(schema) == 0:
        raise PalimpsestError(
            Code.PROTOCOL,
            "a bulk load names a table, and its rows have columns",
            advice="use the driver's own call for bulk loads",
        )
    if asked.options:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"bulk loads have no option {sorted(asked.options)[0]}",
            advice="leave it out",
        )
    with scratch() as folder:
        name = str(folder / f"{STREAM_PREFIX}rows.parquet")
        schema = _plain(schema)
        count = _write(name, schema, batches)
        transaction = asked.transaction_id if asked.HasField("transaction_id") else None
        with client.working(transaction or None) as worker:
            session = worker.session
            _check_catalog(session, asked)
            with session.cancellation.running():
                _load(session, asked, schema, name)
        return count


def _load(
    session: Session, asked: wire.CommandStatementIngest, schema: pa.Schema, file: str
) -> None:
    alone = not session.in_transaction
    if alone:
        session.begin()
    try:
        target = _make_table(session, asked, schema)
        columns = ", ".join(_quote(field.name) for field in schema)
        path = exp.Literal.string(file).sql("duckdb")
        session.run_text(f"COPY {target} ({columns}) FROM {path} (FORMAT PARQUET)", file).close()
        if alone:
            session.commit()
    except BaseException:
        if alone:
            session.rollback()
        raise


def _make_table(session: Session, asked: wire.CommandStatementIngest, schema: pa.Schema) -> str:
    """The name of the table to fill, which is there afterwards."""
    name = _quote(asked.table)
    if asked.HasField("schema") and asked.schema and not asked.temporary:
        name = f"{_quote(asked.schema)}.{name}"
    options = asked.table_definition_options
    is_there = _exists(session, asked)
    if is_there and options.if_exists == _REPLACE:
        session.run_text(f"DROP TABLE {name}").close()
        is_there = False
    if is_there and options.if_exists != _APPEND:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the table {asked.table} exists already",
            advice="append to it, or replace it",
        )
    if not is_there and options.if_not_exist == _CREATE:
        kinds = {c.name: c.type for c in arrow_columns(_signed(schema).empty_table())}
        parts = ", ".join(f"{_quote(n)} {kind}" for n, kind in kinds.items())
        word = "TEMPORARY TABLE" if asked.temporary else "TABLE"
        session.run_text(f"CREATE {word} {name} ({parts})").close()
    return name


def _exists(session: Session, asked: wire.CommandStatementIngest) -> bool:
    catalog = session.catalog
    if asked.temporary:
        return (
            catalog.own is not None and catalog.get(TableName(catalog.own, asked.table)) is not None
        )
    own = () if catalog.own is None else (catalog.own,)
    schemas = (asked.schema,) if asked.schema else (*own, *session.settings.search_path)
    return any(catalog.get(TableName(schema, asked.table)) is not None for schema in schemas)


def _check_catalog(session: Session, asked: wire.CommandStatementIngest) -> None:
    if asked.HasField("catalog") and asked.catalog not in ("", session.catalog.database):
        raise PalimpsestError(
            Code.UNKNOWN_SCHEMA,
            f"there is no database {asked.catalog}",
            advice=f"the database is called {session.catalog.database}",
        )


def _signed(schema: pa.Schema) -> pa.Schema:
    """The schema with numbers that every store has, wide enough for those that have no sign."""
    fields = [pa.field(f.name, _WIDER.get(f.type, f.type)) for f in schema]
    return pa.schema(fields)


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema in which rows are kept: dictionaries and extensions as their values."""
    fields = []
    for field in schema:
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_null(kind):
            kind = pa.string()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _write(name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Keep the batches in a file; how many rows."""
    count = 0
    with pq.ParquetWriter(name, schema, compression="lz4") as writer:
        for batch in batches:
            writer.write_batch(_as_plain(batch, schema))
            count += batch.num_rows
    return count


def _as_plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        columns.append(column if column.type.equals(field.type) else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
