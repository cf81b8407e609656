"""Imports and exports of many rows: they stream, and tell how far they are."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow.parquet as pq

import gateway
from gateway.shell.exports import export_rows
from gateway.shell.files import import_file

ROWS = 300_000
_SLOW = f"SELECT i AS id, md5(i::text) AS a, md5(a) AS b, md5(b) AS c FROM range({ROWS}) AS r(i)"


def test_export_then_import(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    told: list[float] = []
    with gateway.connect("palimpsest://", autocommit=True) as connection:
        assert export_rows(connection, _SLOW, file, advance=told.append) == ROWS
        assert pq.ParquetFile(file).metadata.num_rows == ROWS
        # Held in memory it would be one batch; the store writes row groups as rows come.
        assert pq.ParquetFile(file).metadata.num_row_groups > 1
        done = import_file(connection, str(file), "t", create=True, key=["id"], advance=told.append)
        assert done.rows == ROWS
        assert not connection.session.cancellation.tracks_progress
    assert all(0 <= part <= 1 for part in told)
    assert told


def test_progress_never_goes_back(tmp_path: Path) -> None:
    told: list[float] = []
    with gateway.connect("palimpsest://", autocommit=True) as connection:
        export_rows(connection, _SLOW, tmp_path / "rows.parquet", advance=told.append)
    assert all(a <= b for a, b in itertools.pairwise(told))


def test_what_is_no_query_is_exported_too(tmp_path: Path) -> None:
    file = tmp_path / "tables.parquet"
    with gateway.connect("palimpsest://", autocommit=True) as connection:
        connection.cursor().execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        assert export_rows(connection, "SHOW TABLES", file) == 1
        assert export_rows(connection, "t", file) == 0
