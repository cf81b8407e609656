"""Rows by their rank on every store: ``FETCH FIRST n ROWS WITH TIES``, and QUALIFY."""

from __future__ import annotations

import pytest

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
