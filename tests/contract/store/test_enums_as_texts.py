"""In the duckdb dialect an enum is a text beside anything but its own kind, on every store."""

from __future__ import annotations

import duckdb
import pytest

from tests.support.kept import rows
from tests.support.stores.store import Store

SETUP = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
CREATE TYPE other AS ENUM ('happy', 'ok', 'glad')
CREATE TABLE t (k INTEGER PRIMARY KEY, a mood, b other, c VARCHAR, d ENUM('ok', 'a'))
INSERT INTO t VALUES (1, 'sad', 'happy', 'ok', 'a'), (2, 'ok', 'ok', 'ok', 'ok')
INSERT INTO t VALUES (3, 'happy', 'glad', 'sad', 'a'), (4, NULL, 'ok', NULL, NULL)
""".strip().splitlines()
QUERIES = """
SELECT a = b, a > b, a <> b, a IS DISTINCT FROM b, a < c, c >= a, d = a, d < 'b' FROM t ORDER BY k
SELECT a > 'ok', a = 'ok', 'ok' < a, a = 'nope' FROM t ORDER BY k
SELECT a IN ('sad', 'nope'), a IN (c, 'happy') FROM t ORDER BY k
SELECT k FROM t WHERE a BETWEEN 'ok' AND 'sad' ORDER BY k
SELECT x.k, y.k FROM t AS x JOIN t AS y ON x.a = y.b ORDER BY 1, 2
SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY 1
SELECT CASE WHEN k > 2 THEN a ELSE b END, CASE a WHEN b THEN 1 END FROM t ORDER BY k
SELECT coalesce(a, b), coalesce(a, 'nope'), coalesce(a, c), greatest(a, 'ok') FROM t ORDER BY k
SELECT substring(a, 1, 2), upper(a), length(a), a || 'x', a LIKE '%a%' FROM t ORDER BY k
SELECT k FROM t WHERE a IN (SELECT b FROM t) ORDER BY k
SELECT k FROM t WHERE a::VARCHAR IN (SELECT b FROM t) ORDER BY k
SELECT nullif(a, b), nullif(a, 'ok') FROM t ORDER BY k
SELECT min(a), max(a), count(DISTINCT a), min(d) FROM t
SELECT a FROM t ORDER BY a DESC NULLS LAST
SELECT k FROM t WHERE a < (SELECT max(a) FROM t) ORDER BY k
SELECT * FROM v ORDER BY 1
SELECT m FROM u ORDER BY m
""".strip().splitlines()
MADE = """
CREATE VIEW v AS SELECT k FROM t WHERE a > 'ok'
CREATE TABLE u AS SELECT CASE WHEN k = 1 THEN a ELSE b END AS m FROM t
""".strip().splitlines()


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite has no enums")
def test_enums_are_texts_beside_others(store: Store) -> None:
    con, plain = store.connect(dialect="duckdb"), duckdb.connect()
    for sql in SETUP + MADE:
        con.execute(sql)
        plain.execute(sql)
    for sql in QUERIES:
        assert rows(con, sql) == plain.execute(sql).fetchall(), sql
    for sql in ("UPDATE t SET a = c WHERE k < 3", "UPDATE t SET a = b WHERE b IN ('ok')"):
        con.execute(sql)
        plain.execute(sql)
    assert (
        rows(con, "SELECT k, a FROM t ORDER BY k")
        == plain.execute("SELECT k, a FROM t ORDER BY k").fetchall()
    )


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="SQLite has no enums")
def test_enums_in_lists_are_texts(store: Store) -> None:
    con, plain = store.connect(dialect="duckdb"), duckdb.connect()
    for sql in SETUP:
        con.execute(sql)
        plain.execute(sql)
    for sql in ("SELECT [a, b] FROM t ORDER BY k", "SELECT list(a ORDER BY a, k) FROM t"):
        assert rows(con, sql) == plain.execute(sql).fetchall(), sql
