"""What Spark says otherwise, or not at all, gives what DuckDB gives: the same queries on both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]

TABLES = (
    "CREATE TABLE t (k INTEGER, g VARCHAR, n INTEGER, d DECIMAL(6, 2), x DOUBLE)",
    "INSERT INTO t VALUES (1, 'a', 3, 1.25, 0.5), (2, 'a', NULL, 2.5, -1), (3, 'b', 1, NULL, 0)",
    "INSERT INTO t VALUES (4, NULL, 7, 10.05, NULL), (5, 'b', 3, 0, 2)",
    "CREATE TABLE few (v INTEGER)",
    "INSERT INTO few VALUES (1), (3)",
    "CREATE TABLE gaps (v INTEGER)",
    "INSERT INTO gaps VALUES (1), (3), (NULL)",
    "CREATE TABLE none (v INTEGER)",
    'CREATE TABLE "Names" ("Mixed" INTEGER, "two words" INTEGER, "order" INTEGER)',
    "CREATE TABLE nested (k INTEGER, l INTEGER[], s STRUCT(p INTEGER, q VARCHAR), x VARCHAR)",
    "INSERT INTO nested VALUES (1, [1, NULL], {'p': NULL, 'q': 'a'}, 'abc')",
    "INSERT INTO nested VALUES (2, [1, 2], {'p': 1, 'q': NULL}, 'x'), (3, NULL, NULL, NULL)",
    "INSERT INTO nested VALUES (4, [], {'p': 1, 'q': 'z'}, ''), (5, [NULL], {'p': 2}, '')",
)
COMPARED = [
    f"SELECT k, n {operator} {word} (SELECT v FROM {source}) AS found FROM t ORDER BY k"
    for operator in ("=", "<>", "<", "<=", ">", ">=")
    for word in ("ALL", "ANY")
    for source in ("few", "gaps", "none")
]
QUERIES = [
    " UNION ALL ".join(f"SELECT '{i}' AS i, * FROM ({sql})" for i, sql in enumerate(COMPARED)),
    "SELECT k FROM t WHERE n > ALL (SELECT v FROM few) OR n = ANY (SELECT v FROM none) ORDER BY k",
    "SELECT k, n = ANY([1, NULL]), n <> ALL([1, 7]), n > ALL([1, NULL]) FROM t ORDER BY k",
    "SELECT g, n, grouping(g, n), grouping(n, g), grouping(g) FROM t GROUP BY CUBE (g, n)",
    "SELECT g, avg(d), avg(n), avg(DISTINCT n), avg(x) FROM t GROUP BY g ORDER BY g",
    "SELECT list(g ORDER BY k DESC), list(n ORDER BY n), list(n ORDER BY n DESC NULLS LAST) FROM t",
    "SELECT list(k ORDER BY g NULLS FIRST, n DESC, k), list(k) FILTER (WHERE k > 9) FROM t",
    "SELECT g, list(n ORDER BY k) FILTER (WHERE k <> 5) AS l FROM t GROUP BY g ORDER BY g",
    "SELECT list(v), array_agg(v ORDER BY v) FROM none",
    "SELECT k, array_length(list(n) OVER (PARTITION BY g)) FROM t ORDER BY k",
    "SELECT k, k / n, x / 0, k / x, k / 2, (k / n) / x FROM t ORDER BY k",
    "SELECT sum(w), count(*) FROM (SELECT row_number() OVER () AS w FROM t) q",
    "SELECT k, n IN (SELECT v FROM few), n NOT IN (SELECT v FROM gaps) FROM t ORDER BY k",
    "SELECT k, n IN (SELECT v FROM none), NOT n IN (SELECT v FROM none) FROM t ORDER BY k",
    "SELECT k FROM t WHERE k = 1 OR n NOT IN (SELECT v FROM gaps) ORDER BY k",
    "SELECT k FROM t WHERE n NOT IN (SELECT v FROM few) AND k > 0 ORDER BY k",
    "SELECT k FROM t WHERE NOT (n IN (SELECT v FROM few) OR k > 9) ORDER BY k",
    "SELECT k FROM t WHERE (n IN (SELECT v FROM few) AND x > 0) IS NULL ORDER BY k",
    "SELECT k FROM t WHERE n IN (SELECT v FROM few WHERE v = t.n) OR k = 4 ORDER BY k",
    "SELECT k, rank() OVER (PARTITION BY g) FROM t ORDER BY k",
    "SELECT * FROM (VALUES (1, (SELECT max(k) FROM t)), (2, NULL)) AS q(a, b) ORDER BY a",
    "SELECT k // 2, k % 2, -k // 2, -k % 3 FROM t ORDER BY k",
    "SELECT k, {'p': NULL, 'q': 'it''s'} AS s, [NULL] AS l FROM t",
    "SELECT k, len(l), len(x), CAST(l AS VARCHAR), length(list_append(l, 7)) FROM nested",
    "SELECT max(l), min(l), max(s), min(s), max(k) FROM nested",
    "SELECT k, rank() OVER (ORDER BY s) AS r, max(l) OVER (PARTITION BY k % 2) FROM nested",
    "SELECT k FROM nested WHERE l > [1, 2] OR s < {'p': 1, 'q': 'zz'} OR l BETWEEN [3] AND [NULL]",
    "WITH c AS (SELECT l AS m FROM nested) SELECT len(a.m), b.m FROM c a JOIN c AS b ON a.m < b.m",
    "SELECT list(k ORDER BY l NULLS FIRST), list(k ORDER BY s) FROM nested",
    "SELECT k, l AS y FROM nested ORDER BY y DESC NULLS LAST LIMIT 2",
    "SELECT l, k FROM nested UNION ALL SELECT [9], 6 ORDER BY 1 LIMIT 5",
    "SELECT v, q.m, q.m + 1 FROM few, LATERAL (SELECT (SELECT max(k) FROM t WHERE n < few.v) m) q",
]
NAMED = (
    'SELECT count(*), max("Mixed"), "Mixed" + 1, min("two words"), -"order", "Mixed" IS NULL,'
    ' CAST("Mixed" AS BIGINT), "Mixed" IN (1, 2), count(DISTINCT "order") FILTER (WHERE true)'
    ' FROM "Names" GROUP BY "Mixed", "order"'
)
"""Columns without a name go by their text, in which quotes stand where a name needs them."""
FAR = (
    "SELECT (SELECT max(f.v) FROM few f WHERE EXISTS (SELECT 1 FROM gaps g WHERE v = t.n)) FROM t",
    "SELECT (SELECT max(f.v) FROM few f WHERE EXISTS (SELECT 1 FROM gaps g WHERE v = n)) FROM t",
    "SELECT * FROM t, LATERAL (SELECT (SELECT max(v) FROM few WHERE v < t.n) AS m) q",
    "SELECT m FROM t, LATERAL (SELECT (SELECT max(v) FROM few WHERE v < t.n) AS m) q GROUP BY m",
)
"""Spark looks one query out, and says of columns further out that there are none."""

FAILING = [
    ("SELECT k // (k - 1) FROM t", "22012"),
    ("SELECT k % (k - 1) FROM t", "22012"),
    ("SELECT k + 2147483647 FROM t", "22003"),
    ("SELECT CAST(g AS INTEGER) FROM t", "22P02"),
    ("SELECT nobody.k FROM t", "42P01"),
    ("SELECT t.nothing FROM t", "42703"),
    ("CREATE TABLE spans (k INTEGER, i INTERVAL)", "0A000"),
    ("ALTER TABLE t ADD COLUMN i INTERVAL", "0A000"),
]


@pytest.fixture(scope="module")
def both(
    server: ThriftServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connection, duckdb.DuckDBPyConnection]]:
    """The same tables on Spark, through the gateway, and in DuckDB."""
    url = server.new_store(tmp_path_factory.mktemp("select"))
    with gateway.connect(url, autocommit=True) as spark, duckdb.connect() as plain:
        for sql in TABLES:
            spark.execute(sql)
            plain.execute(sql)
        yield spark, plain
        for name in ("t", "few", "gaps", "none", "nested", '"Names"'):
            spark.execute(f"DROP TABLE {name}")


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else round(value, 9)
    return value


def _rows(found: list[Any]) -> list[Any]:
    return sorted((tuple(map(_comparable, row)) for row in found), key=repr)


@pytest.mark.parametrize("sql", QUERIES)
def test_spark_and_duckdb_return_the_same_rows(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str
) -> None:
    spark, plain = both
    assert _rows(spark.execute(sql).fetchall()) == _rows(plain.execute(sql).fetchall())


@pytest.mark.parametrize(("sql", "state"), FAILING)
def test_spark_and_duckdb_raise_the_same_errors(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str, state: str
) -> None:
    with pytest.raises(gateway.Error) as raised:
        both[0].execute(sql).fetchall()
    assert raised.value.sqlstate == state


def test_columns_without_a_name_are_called_alike(
    both: tuple[Connection, duckdb.DuckDBPyConnection],
) -> None:
    spark, plain = both
    found, wanted = spark.execute(NAMED).description, plain.execute(NAMED).description
    assert [column[0] for column in found or ()] == [column[0] for column in wanted or ()]


@pytest.mark.parametrize("sql", FAR)
def test_columns_out_of_sparks_reach_are_refused(
    both: tuple[Connection, duckdb.DuckDBPyConnection], sql: str
) -> None:
    both[1].execute(sql)
    with pytest.raises(gateway.NotSupportedError, match="two further out") as raised:
        both[0].execute(sql)
    assert raised.value.code == "PAL-110"
