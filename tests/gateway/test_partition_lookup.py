"""A row asked for by its key and by the column its table is partitioned by, wherever it is."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.tiers import in_tiers

_CREATE = "CREATE TABLE t (k INT PRIMARY KEY, v STRING, day INT) PARTITIONED BY (day)"


@pytest.fixture
def con(tmp_path: Path) -> Connection:
    return gateway.connect(f"palimpsest:///{tmp_path}/w", dialect="spark", autocommit=True)


@pytest.mark.long
@pytest.mark.first(1)
@pytest.mark.parametrize("seed", in_tiers(range(5), {0, 1}))
def test_rows_that_move_are_found_where_they_are(con: Connection, seed: int) -> None:
    chance, plain = random.Random(seed), duckdb.connect()
    con.execute(_CREATE)
    plain.execute("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR, day INT)")
    explicit = chance.random() < 0.5
    for _ in range(25):
        k, day, other = (chance.randrange(3) for _ in range(3))
        sql = chance.choice(
            [
                f"DELETE FROM t WHERE k = {k} AND day = {day}",
                f"UPDATE t SET day = {other} WHERE k = {k} AND day = {day}",
                f"UPDATE t SET v = concat(v, 'x') WHERE day = {day} AND k = {k}",
                f"INSERT INTO t SELECT {k}, 'v', {day} WHERE {k} NOT IN (SELECT k FROM t)",
            ]
        )
        if explicit and not con.in_transaction and chance.random() < 0.2:
            con.execute("BEGIN")
        count = plain.execute(sql).fetchone()
        assert count is not None
        assert con.execute(sql).rowcount == count[0], sql
        if con.in_transaction and chance.random() < 0.3:
            con.execute("COMMIT")
        elif not con.in_transaction and chance.random() < 0.2:
            con.execute("OPTIMIZE t")
        for asked in range(3):
            for when in range(3):
                read = f"SELECT * FROM t WHERE k = {asked} AND t.day = {when}"
                assert con.execute(read).fetchall() == plain.execute(read).fetchall(), read


def test_the_base_is_searched_by_partition_and_changes_are_not(con: Connection) -> None:
    con.execute(_CREATE)
    con.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET day = 3 WHERE k = 1")
    told = dict(con.execute("EXPLAIN SELECT * FROM t WHERE k = 1 AND day = 1").fetchall())
    assert "key lookup" in told["palimpsest_shapes"]
    assert con.execute("SELECT * FROM t WHERE k = 1 AND day = 1").fetchall() == []
    assert con.execute("SELECT * FROM t WHERE k = 1 AND day = 3").fetchall() == [(1, "a", 3)]
