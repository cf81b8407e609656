"""Filters are the same whichever reader the values of a new file are read back with."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from journal.erasure.descriptor import Identity
from journal.erasure.paths import parse_path
from journal.filters import FilterBuilder
from journal.read_back import plain_batches

PLAIN = {
    "VARCHAR": "nullif('name ' || i, 'name 7')",
    "BLOB": "encode('b' || i)",
    "TINYINT": "i % 100",
    "BIGINT": "i * 7919 - 5000",
    "UBIGINT": "i + 18446744073709550000::UBIGINT",
    "INTEGER": "nullif(i, 9)",
    "DATE": "DATE '2020-01-01' + CAST(i AS INTEGER)",
    "BOOLEAN": "i % 2 = 0",
    "ENUM('a', 'b')": "['a', 'b'][1 + CAST(i AS INTEGER) % 2]",
}
OTHERS = {
    "UUID": "CAST(md5(i || '') AS UUID)",
    "VARCHAR[]": "['x' || i]",
    "TIMESTAMP": "TIMESTAMP '2020-01-01'",
    "DECIMAL(9,2)": "i",
}


def _written(folder: Path, kind: str, value: str, version: str) -> Path:
    path = folder / "rows.parquet"
    rows = f"SELECT CAST({value} AS {kind}) AS v, i AS k FROM range(1000) r(i)"
    options = f"FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048"
    duckdb.execute(f"COPY ({rows}) TO '{path}' ({options})")
    return path


def _filters(batches: object) -> dict[str, object]:
    builder = FilterBuilder((Identity(parse_path("v"), "v"),), ("k",))
    for batch in batches:  # type: ignore[attr-defined]
        builder.add(batch)
    return dict(builder.finish())


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("kind", PLAIN)
def test_plain_values_are_the_same(tmp_path: Path, kind: str, version: str) -> None:
    path = _written(tmp_path, kind, PLAIN[kind], version)
    batches = plain_batches(path, ["v", "k"])
    assert batches is not None
    theirs = duckdb.sql(f"SELECT v, k FROM '{path}'").to_arrow_reader(300)
    assert _filters(batches) == _filters(theirs)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_types_are_left_to_duckdb(tmp_path: Path, kind: str) -> None:
    path = _written(tmp_path, kind, OTHERS[kind], "v2")
    assert plain_batches(path, ["k", "v"]) is None
    assert plain_batches(path, ["missing"]) is None
    only = plain_batches(path, ["k"])
    assert only is not None
    assert pa.Table.from_batches(only).num_rows == 1000
