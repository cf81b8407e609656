"""The gateway and plain DuckDB over the same rows, each ready to be timed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import gateway
from bench import lineitem

TABLE = "bench.lineitem"


class Gateway:
    """A warehouse of its own under the scratch folder, through the DB-API."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.cursor = connection.cursor()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and fetch all of its rows."""
        self.cursor.execute(sql, tuple(values) or None)
        found: list[tuple[Any, ...]] = self.cursor.fetchall()
        return found

    def arrow(self, sql: str) -> pa.Table:
        """Run a query and fetch its rows as Arrow."""
        self.cursor.execute(sql)
        return self.cursor.fetch_arrow()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement that returns no rows; the number of rows it changed."""
        self.cursor.execute(sql, tuple(values) or None)
        return int(self.cursor.rowcount)

    def load(self, parquet: Path) -> None:
        """Make the table and fill it from a Parquet file, everything sealed."""
        self.run("CREATE SCHEMA bench")
        self.run(lineitem.create_table(TABLE))
        self.run(f"INSERT INTO {TABLE} SELECT * FROM read_parquet('{parquet}')")
        self.rows("CALL system.flush()")


@contextmanager
def fresh_gateway(folder: Path) -> Iterator[Gateway]:
    """An empty warehouse; it is removed afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    connection = gateway.connect(f"palimpsest:///{folder}", autocommit=True)
    try:
        yield Gateway(connection)
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def loaded_gateway(folder: Path, parquet: Path) -> Iterator[Gateway]:
    """A warehouse with the table of a Parquet file's rows, opened anew after loading."""
    shutil.rmtree(folder, ignore_errors=True)
    url = f"palimpsest:///{folder}"
    connection = gateway.connect(url, autocommit=True)
    try:
        Gateway(connection).load(parquet)
    finally:
        connection.close()
    connection = gateway.connect(url, autocommit=True)
    try:
        yield Gateway(connection)
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def native(
    folder: Path, name: str, parquet: Path, key: bool
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain DuckDB database file with table ``t``, with or without its primary key."""
    file = folder / f"{name}.duckdb"
    for path in (file, file.with_suffix(".duckdb.wal")):
        path.unlink(missing_ok=True)
    connection = duckdb.connect(str(file))
    try:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{parquet}'")
        if key:
            connection.execute("ALTER TABLE t ADD PRIMARY KEY (k)")
        connection.execute("CHECKPOINT")
        yield connection
    finally:
        connection.close()
        file.unlink(missing_ok=True)


def plain() -> duckdb.DuckDBPyConnection:
    """Plain DuckDB for Parquet files, set up as the gateway's store is."""
    connection = duckdb.connect()
    connection.execute("SET parquet_metadata_cache = true")
    return connection
