"""Averages of decimals over a changed table are those of plain DuckDB, to the last bit."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection

ROWS = 2000


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Connection, duckdb.DuckDBPyConnection]:
    folder: Path = tmp_path_factory.mktemp("averages")
    ours, plain = gateway.connect(f"palimpsest:///{folder}/w", autocommit=True), duckdb.connect()
    numbers = random.Random(7)
    rows = [
        (k, k % 200, f"{numbers.uniform(-1000, 1000):.2f}", f"{numbers.uniform(-9, 9):.3f}")
        for k in range(ROWS)
    ]
    for con in (ours, plain):
        con.execute("CREATE TABLE t (k INTEGER, g INTEGER, d DECIMAL(12, 2), e DECIMAL(9, 3))")
    plain.execute(f"INSERT INTO t VALUES {', '.join(map(str, rows))}")
    # The gateway would take seconds to read that many constants.
    ours.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    ours.execute("CALL system.flush()")
    for con in (ours, plain):
        con.execute("UPDATE t SET d = d + 1.1 WHERE k % 5 = 1")
        con.execute("DELETE FROM t WHERE k % 7 = 0")
    return ours, plain


@pytest.mark.parametrize(
    "outputs",
    [
        *("avg(d)", "avg(d), count(*)", "avg(d), sum(d)", "avg(d), count(k)", "avg(d), sum(k)"),
        *("avg(d), avg(e)", "avg(d), sum(e)", "avg(d * 2), count(*)", "avg(-d), sum(-d)"),
        *("avg(d) FILTER (WHERE k > 9), count(*)", "avg(d), count(*) FILTER (WHERE k > 9)"),
        *("avg(d) FILTER (WHERE k > 9), sum(d)", "avg(d), count(DISTINCT k)"),
    ],
)
def test_averages_are_rounded_alike(
    both: tuple[Connection, duckdb.DuckDBPyConnection], outputs: str
) -> None:
    ours, plain = both
    for query in (
        f"SELECT {outputs} FROM t",
        f"SELECT g, {outputs} FROM t GROUP BY g ORDER BY g",
    ):
        assert ours.execute(query).fetchall() == plain.execute(query).fetchall()
