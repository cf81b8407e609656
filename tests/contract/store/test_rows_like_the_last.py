"""Rows by their rank or share on every store: FETCH .. WITH TIES, QUALIFY and LIMIT n %."""

from __future__ import annotations

import pytest

from gateway.errors import Error
from tests.support.kept import rows
from tests.support.stores.store import Store


@pytest.mark.also_on("hive")
def test_rows_like_the_last_are_fetched(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2), (4, 2), (5, NULL)")
    for sql, wanted in (
        ("SELECT v FROM t ORDER BY v FETCH FIRST 1 ROWS", [(1,), (1,)]),
        ("SELECT v FROM t ORDER BY 1 OFFSET 1 ROW FETCH FIRST 2 ROWS", [(1,), (2,), (2,)]),
        ("SELECT k FROM t ORDER BY v DESC FETCH FIRST ROW", [(5,)]),
        ("SELECT v, count(*) FROM t GROUP BY v ORDER BY v FETCH FIRST 2 ROWS", [(1, 2), (2, 2)]),
        ("SELECT DISTINCT v FROM t ORDER BY v FETCH FIRST ROW", [(1,)]),
    ):
        assert rows(con, f"{sql} WITH TIES") == wanted, sql


@pytest.mark.also_on("hive")
def test_qualify_comes_before_order_and_limit(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2), (4, 2)")
    last = "QUALIFY row_number() OVER (PARTITION BY v ORDER BY k DESC) = 1"
    counted = (
        "SELECT v, count(*), sum(k) FROM t GROUP BY v QUALIFY rank() OVER (ORDER BY count(*)) = 1"
    )
    joined = "SELECT a.k, b.k FROM t AS a JOIN t AS b ON a.v = b.v"
    first = "QUALIFY row_number() OVER (PARTITION BY a.k ORDER BY b.k) = 1"
    named = "SELECT k AS x FROM t QUALIFY rank() OVER (ORDER BY x DESC) <= 2 AND k > 3"
    for sql, wanted in (
        (f"SELECT k FROM t {last} ORDER BY k LIMIT 1", [(2,)]),
        (f"SELECT k FROM t {last} ORDER BY v DESC, k OFFSET 1", [(2,)]),
        (f"SELECT * FROM t {last} ORDER BY k", [(2, 1), (4, 2)]),
        (f"SELECT t.*, 1 AS one FROM t {last} ORDER BY k", [(2, 1, 1), (4, 2, 1)]),
        ("SELECT DISTINCT v FROM t QUALIFY rank() OVER (ORDER BY k) <= 3 ORDER BY v", [(1,), (2,)]),
        (f"{counted} ORDER BY sum(k) DESC LIMIT 1", [(2, 2, 7)]),
        (f"{joined} {first} ORDER BY a.k DESC, b.k LIMIT 2", [(4, 3), (3, 3)]),
        (f"SELECT x + 1 FROM ({named}) AS q", [(5,)]),
        ("SELECT DISTINCT ON (v) k, v FROM t ORDER BY v DESC, k DESC LIMIT 1", [(4, 2)]),
        ("SELECT DISTINCT ON (w) k, v + 1 AS w FROM t ORDER BY 2, k OFFSET 1", [(3, 3)]),
    ):
        assert rows(con, sql) == wanted, sql


@pytest.mark.drifts(toy="SQLite has no LIMIT by a share", hive="Spark's LIMIT is a constant")
def test_a_share_of_the_rows(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t SELECT i, i % 3 FROM range(10) AS r(i)")
    more = "WITH q AS (SELECT k FROM t WHERE k > 3) SELECT k FROM q ORDER BY k"
    for sql, wanted in (
        ("SELECT k FROM t ORDER BY k DESC LIMIT 20%", [(9,), (8,)]),
        ("SELECT k FROM t ORDER BY k LIMIT 19.99 PERCENT", [(0,)]),
        ("SELECT k FROM t ORDER BY k LIMIT 40% OFFSET 8", [(8,), (9,)]),
        ("SELECT k FROM t ORDER BY k LIMIT (10 + 10) %", [(0,), (1,)]),
        (f"{more} LIMIT (SELECT count(*) * 10 FROM q) % OFFSET 1", [(5,), (6,), (7,)]),
        ("SELECT count(*) FROM (SELECT k FROM t LIMIT NULL %) AS q", [(10,)]),
        ("SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 1 LIMIT 50%", [(1,)] * 2),
        ("SELECT k FROM (SELECT k FROM t ORDER BY k LIMIT 30%) AS q LIMIT 50%", [(0,)]),
        ("SELECT k FROM t ORDER BY k LIMIT 5 % 3", [(0,), (1,)]),
        ("SELECT k FROM t ORDER BY k LIMIT 5 % (1 + 2) OFFSET 1", [(1,), (2,)]),
    ):
        assert rows(con, sql) == wanted, sql
    found = con.execute("SELECT 1 AS a, 2 AS a, t.* FROM t LIMIT (10 + 10) %")
    assert [column[0] for column in found.description or ()] == ["a", "a", "k", "v"]
    with pytest.raises(Error, match="PAL-110"):
        con.execute("SELECT k FROM t ORDER BY k LIMIT 10% WITH TIES")
    for share in ("101%", "(0 - 1) %"):
        with pytest.raises(Error):
            con.execute(f"SELECT k FROM t LIMIT {share}")
    with pytest.raises(Error, match=r"PAL-101.*at or near"):
        store.connect(dialect="postgres").execute("SELECT k FROM t LIMIT 50%")
