"""Totals of ROLLUP, CUBE and GROUPING SETS over rows and over none, as plain DuckDB has them."""

from __future__ import annotations

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]

QUERIES = """
SELECT a, sum(x), count(*) FROM t WHERE {} GROUP BY ROLLUP (a) ORDER BY ALL;
SELECT a, b, grouping(a, b) AS g, count(b) FROM t WHERE {} GROUP BY CUBE (a, b) ORDER BY 3, a, b;
SELECT a FROM t WHERE {} GROUP BY GROUPING SETS ((a), (), ()) ORDER BY a NULLS FIRST;
SELECT b, a, count(*) FROM t WHERE {} GROUP BY a, ROLLUP (b) ORDER BY a, b;
SELECT count(*) AS n FROM t WHERE {} GROUP BY ROLLUP (a) HAVING count(*) > 0 AND n < 9 ORDER BY 1;
SELECT upper(b) AS u, max(x) FROM t WHERE {} GROUP BY ROLLUP (u) ORDER BY 1;
SELECT t.a, count(*), sum(count(*)) OVER (PARTITION BY t.a) AS w FROM t WHERE {}
  GROUP BY ROLLUP (t.a) ORDER BY t.a NULLS LAST LIMIT 2;
SELECT coalesce(b, 'all') AS k, count(DISTINCT a) FROM t WHERE {} GROUP BY ROLLUP (b)
  ORDER BY sum(x) NULLS FIRST, k;
SELECT s.a, n FROM (SELECT a, count(*) AS n FROM t WHERE {} GROUP BY ROLLUP (a)) s ORDER BY 1;
WITH r AS (SELECT * FROM t WHERE {}) SELECT r.a, u.b, count(*) FROM r JOIN t AS u ON r.a = u.a
  GROUP BY GROUPING SETS (ROLLUP (r.a), (u.b)) ORDER BY 1, 2;
SELECT a FROM t WHERE {} GROUP BY ROLLUP (a) EXCEPT SELECT 1 ORDER BY 1
"""


def test_totals_are_those_of_plain_tables(con: Connection) -> None:
    plain = duckdb.connect()
    for each in (con.execute, plain.execute):
        each("CREATE TABLE t (a INTEGER, b VARCHAR, x DECIMAL(9, 2))")
        each("INSERT INTO t VALUES (1, 'p', 1.5), (1, 'q', 2), (2, 'p', NULL)")
    for query in QUERIES.split(";"):
        for condition in ("true", "b IN (SELECT b FROM t WHERE a > 99)"):
            sql = query.format(condition)
            assert con.execute(sql).fetchall() == plain.execute(sql).fetchall(), sql
    query = "SELECT a, count(*) FROM t WHERE a > ? GROUP BY ROLLUP (a) ORDER BY 2"
    for value in (0, 99):
        found = con.execute(query, [value]).fetchall()
        assert found == plain.execute(query, [value]).fetchall()


def test_what_cannot_be_said_is_refused(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'p')")
    with pytest.raises(gateway.NotSupportedError, match="DISTINCT in an order"):
        con.execute("SELECT DISTINCT a FROM t GROUP BY ROLLUP (a) ORDER BY count(*)")
