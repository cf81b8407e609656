"""Current views get the plans of plain tables: parallel ones, in the order of an index, no detours.

Asks for plans, not for times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import gateway
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores


@pytest.fixture(scope="module")
def direct(cluster: Cluster) -> Iterator[psycopg.Connection[Any]]:
    """psql's connection to a database with a compacted table, and one that has changed since."""
    database = cluster.database()
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        for table in ("compacted", "changed"):
            con.execute(f"CREATE TABLE {table} (a INTEGER PRIMARY KEY, b VARCHAR, c INTEGER)")
            con.execute(f"INSERT INTO {table} SELECT i, 'row ' || i, i FROM range(20000) AS r(i)")
            con.execute(f"CALL system.compact('{table}')")
        con.execute("UPDATE changed SET c = -c WHERE a % 100 = 7")
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as direct:
            direct.execute("VACUUM ANALYZE")
            yield direct


def test_analyze_tells_the_planner_what_a_table_holds(cluster: Cluster) -> None:
    database = cluster.database()
    with (
        gateway.connect(cluster.url(database), autocommit=True, dialect="postgres") as con,
        psycopg.connect(cluster.conninfo(database), autocommit=True) as direct,
    ):
        known = (
            "SELECT attname FROM pg_stats WHERE tablename = 't1_head_1' AND attname IN ('b', 'c')"
        )
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)")
        con.execute("CREATE INDEX ON t (b)")
        con.execute("INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 10000) AS r(i)")
        assert direct.execute(known).fetchall() == [("b",)]
        con.execute("ANALYZE")
        assert sorted(direct.execute(known)) == [("b",), ("c",)]


def _plan(direct: psycopg.Connection[Any], sql: str) -> str:
    return "\n".join(line for (line,) in direct.execute(f"EXPLAIN (COSTS OFF) {sql}"))


@pytest.mark.parametrize("table", ["compacted", "changed"])
def test_a_scan_is_parallel_and_reads_no_table_for_each_row(
    direct: psycopg.Connection[Any], table: str
) -> None:
    with direct.transaction():
        direct.execute("SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0")
        direct.execute("SET LOCAL min_parallel_table_scan_size = 0")
        plan = _plan(direct, f"SELECT sum(c) FROM {table}")
    assert "Parallel Seq Scan" in plan
    assert "Hash Anti Join" in plan
    assert "Subquery Scan" not in plan


@pytest.mark.parametrize("table", ["compacted", "changed"])
def test_a_page_by_key_sorts_nothing(direct: psycopg.Connection[Any], table: str) -> None:
    plan = _plan(direct, f"SELECT * FROM {table} ORDER BY a LIMIT 10")
    assert "Merge Append" in plan
    assert "->  Sort" not in plan
    rows = direct.execute(f"SELECT * FROM {table} ORDER BY a DESC LIMIT 2").fetchall()
    assert rows == [(19999, "row 19999", 19999), (19998, "row 19998", 19998)]


def test_a_changed_row_is_shown_once(direct: psycopg.Connection[Any]) -> None:
    found = direct.execute("SELECT count(*), sum(c) FROM changed").fetchone()
    whole = sum(range(20000))
    assert found == (20000, whole - 2 * sum(range(7, 20000, 100)))


def test_sums_without_a_base_join_nothing(cluster: Cluster) -> None:
    queries = (
        "SELECT count(*), sum(c) FROM t WHERE a % 2 = 1",
        "SELECT b, count(*), sum(c), count(DISTINCT c) FROM t GROUP BY b ORDER BY b",
        "SELECT count(*), sum(c), avg(c) FROM t WHERE a > 60 AND a < 70",
        "SELECT DISTINCT c FROM t ORDER BY c",
        "SELECT count(*), sum(t.c) FROM t JOIN u ON t.c = u.c",
        "SELECT u.b, sum(t.c), count(*) FROM t JOIN u ON t.a = u.a GROUP BY u.b ORDER BY u.b",
    )
    with gateway.connect(cluster.url(cluster.database()), autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c INTEGER)")
        con.execute("INSERT INTO t SELECT i, 'g' || i % 3, i % 7 FROM range(100) AS r(i)")
        con.execute("CREATE TABLE u AS SELECT * FROM t WHERE a < 7")
        con.execute("UPDATE t SET c = c + 1 WHERE a % 10 = 3")
        con.execute("UPDATE t SET c = NULL WHERE a % 20 = 3")
        con.execute("DELETE FROM t WHERE a BETWEEN 60 AND 70")
        con.execute("BEGIN")
        con.execute("UPDATE t SET c = c + 10 WHERE a < 5")
        con.execute("UPDATE t SET c = c + 10 WHERE a < 2")
        con.execute("DELETE FROM t WHERE a = 3")
        con.execute("INSERT INTO t VALUES (200, 'g9', 5), (201, NULL, NULL)")
        for query in queries:
            (shape,) = [
                row[1]
                for row in con.execute(f"EXPLAIN {query}").fetchall()
                if row[0] == "palimpsest_shapes"
            ]
            assert "split aggregate (all rows, less twice those that end others)" in shape
            # A random value is one that nothing is split with.
            whole = query.replace("FROM t", "FROM (SELECT * FROM t WHERE random() < 2) t")
            assert con.execute(query).fetchall() == con.execute(whole).fetchall()
        con.execute("ROLLBACK")


def test_what_is_joined_hands_its_keys_to_all_that_is_added_up(
    cluster: Cluster, direct: psycopg.Connection[Any]
) -> None:
    query = "SELECT sum(c) FROM changed JOIN few ON a = k"
    with gateway.connect(cluster.url(direct.info.dbname), autocommit=True) as con:
        con.execute("CREATE TABLE few (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO few VALUES (7), (8)")
        direct.execute("ANALYZE")
        plan = str(con.execute(f"EXPLAIN {query}").fetchall())
        assert "split aggregate (base as it is, changes with a sign)" in plan
        assert "Subquery Scan" not in plan
        assert con.execute(query).fetchall() == [(1,)]


def test_a_large_write_tells_the_planner_what_it_wrote(cluster: Cluster) -> None:
    database = cluster.database()
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t SELECT i, 'row ' || i FROM range(20000) AS r(i)")
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as direct:
            assert "Hash Anti Join" in _plan(direct, "SELECT max(b) FROM t")
            (known,) = direct.execute(
                "SELECT array_agg(attname::text ORDER BY attname) FROM pg_stats"
                " WHERE schemaname = '_palimpsest' AND tablename LIKE '%head%'"
            )
            assert known == (["a", "subsequent_version_number", "version_number"],)
            con.execute("CALL system.compact('t')")
            con.execute("UPDATE t SET b = b || '.' WHERE a % 2 = 1")
            assert "Hash Anti Join" in _plan(direct, "SELECT max(b) FROM t")


def test_rows_that_ended_since_the_last_analyze_are_not_compared_one_by_one(
    cluster: Cluster,
) -> None:
    database = cluster.database()
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)")
        con.execute("CREATE INDEX t_b ON t (b)")
        con.execute("INSERT INTO t SELECT i, i % 200, i FROM range(20000) AS r(i)")
        with psycopg.connect(cluster.conninfo(database), autocommit=True) as direct:
            direct.execute("ANALYZE")
            con.execute("UPDATE t SET c = -c WHERE a % 40 = 7")
            sql = "SELECT * FROM t WHERE b = 7"
            shown = direct.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}")
            plan = "\n".join(line for (line,) in shown)
            assert "Rows Removed by Join Filter" not in plan
            assert len(direct.execute(sql).fetchall()) == 100
            told = con.execute(f"EXPLAIN ANALYZE {sql}").fetchall()
            assert "Rows Removed by Join Filter" not in str(told)


def test_the_server_looks_at_a_head_again_when_a_hundredth_of_it_is_new(
    direct: psycopg.Connection[Any],
) -> None:
    told = "SELECT relname, reloptions::text FROM pg_class WHERE relname ~ '^t[0-9]+_head_[0-9]+$'"
    heads = direct.execute(told).fetchall()
    assert heads
    assert all("autovacuum_analyze_scale_factor=0.01" in str(known) for _, known in heads)


def test_a_head_that_was_empty_for_the_planner_is_looked_at_when_it_has_some_rows(
    cluster: Cluster,
) -> None:
    database = cluster.database()
    with (
        gateway.connect(cluster.url(database), autocommit=True) as con,
        psycopg.connect(cluster.conninfo(database), autocommit=True) as direct,
    ):
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)")
        con.execute("CREATE INDEX t_b ON t (b)")
        con.execute("INSERT INTO t SELECT i, i % 200, i FROM range(20000) AS r(i)")
        con.execute("CALL system.compact('t')")
        direct.execute("VACUUM ANALYZE")
        con.execute("UPDATE t SET c = -c WHERE a % 40 = 7")
        shown = direct.execute(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM t WHERE b = 7"
        )
        assert "Rows Removed by Join Filter" not in "".join(line for (line,) in shown)
