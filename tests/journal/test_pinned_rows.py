"""Rows are looked up by key or by filters only where rows left out change nothing: as on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from journal.stores.embedded import warehouse
from tests.support.client import Client

TABLES = (
    "CREATE TABLE a (k BIGINT PRIMARY KEY, t BIGINT)",
    "CREATE TABLE b (k BIGINT PRIMARY KEY, x VARCHAR, t BIGINT)",
)
ROWS = (
    "INSERT INTO a SELECT i, i * 100 FROM range(1, 60) r(i)",
    "INSERT INTO b SELECT i, 'p' || i // 1000, i FROM range(6000) r(i)",
)


@pytest.fixture
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    for sql in (*TABLES, *ROWS):
        connection.execute(sql)
    yield connection
    connection.close()


@pytest.fixture
def sealed(run: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The same tables, of which one lies in three files with filters."""
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUP_SIZE", "2048")
    monkeypatch.setitem(warehouse.PARQUET_OPTIONS, "ROW_GROUPS_PER_FILE", "1")
    run("SET memory_rows = 100")
    for sql in (TABLES[0], f"{TABLES[1]} WITH (filters = 'x')", *ROWS):
        run(sql)
    run("CALL system.flush('b')")
    return run


@pytest.mark.first(8)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k, b.k FROM a ASOF JOIN b ON a.t >= b.t WHERE b.k = 5",
        "SELECT count(*) FROM a ASOF JOIN b ON a.t >= b.t WHERE b.x = 'p0'",
        "SELECT count(*) FROM a ASOF LEFT JOIN b ON a.t >= b.t AND b.k > 0 WHERE b.x = 'p2'",
        "SELECT a.k, b.k FROM a POSITIONAL JOIN b WHERE b.k = 5",
        "SELECT a.k, b.k FROM a POSITIONAL JOIN b WHERE a.k = 50",
        "SELECT count(*) FROM b POSITIONAL JOIN a WHERE b.x = 'p5'",
        "SELECT count(*) FROM b AS c(x, k, t) WHERE c.x = 5",
        "SELECT count(*) FROM b AS c(x, k, t) WHERE k = 'p5'",
        "SELECT count(*) FROM b LEFT JOIN a ON a.k = b.k WHERE a.k IS NULL AND b.x = 'p5'",
        "SELECT count(*) FROM a RIGHT JOIN b ON a.k = b.k WHERE b.x = 'p5'",
        "SELECT count(*) FROM b FULL JOIN a ON a.k = b.k WHERE b.x = 'p0'",
        "SELECT row_number() OVER (ORDER BY k) FROM b WHERE x = 'p5' LIMIT 2",
        "SELECT count(*) FROM (SELECT * FROM b) WHERE x = 'p5'",
        "SELECT count(*) FROM b WHERE x = (SELECT min(x) FROM b)",
        "SELECT max(k) FROM b c WHERE c.x = 'p2' AND EXISTS (FROM b WHERE b.k = c.k + 1000)",
    ],
)
def test_answers_are_those_of_duckdb(
    sealed: Client, oracle: duckdb.DuckDBPyConnection, query: str
) -> None:
    assert sealed(query) == oracle.execute(query).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM b TABLESAMPLE reservoir(1 ROWS) WHERE k = 7",
        "SELECT count(*) FROM b WHERE k = 7 USING SAMPLE 1 ROWS",
    ],
)
def test_samples_are_of_all_rows(sealed: Client, query: str) -> None:
    """Of six thousand rows one is taken, hardly ever that which is asked for."""
    assert sum(sealed(query)[0][0] for _ in range(8)) < 8
