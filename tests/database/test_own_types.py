"""Expressions of the postgres dialect on a PostgreSQL store: the types and digits are PostgreSQL's.

Each gives what an ordinary table gives, by itself and as a column of a view.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

SETUP = (
    (
        "CREATE TABLE t (k int PRIMARY KEY, g int, n numeric, p numeric(10,2), f float8, b bigint,"
        " ts timestamp)"
    ),
    (
        "INSERT INTO t SELECT i, i % 3, i / 7.0, i * 1.23, i / 7.0::float8, i * 1000000007::bigint,"
        " timestamp '2024-01-01 00:00:00.678' + i * interval '1 hour'"
        " FROM generate_series(1, 50) AS s(i)"
    ),
    "UPDATE t SET n = n * 2, p = p + 0.11, b = b - 5 WHERE k % 10 = 3",
    "DELETE FROM t WHERE k = 7",
)
OF_ROWS = (
    "k / 2, -k / 2, k / 2.0, p / 3, b / k, f / 2, k::int / 3::int",
    "n::numeric, f::text::numeric, '1.23456'::numeric, '{1.23456}'::numeric[]",
    "ts::time(0), ts::timestamp(1), ts::timestamptz(1) = ts",
    "sign(-k), sign(p), log(2, k), log(100)",
    "1e3, 1.5e-3 * k, k * 1e2::float8, round(p / 7, 3), sqrt(p), power(p, 2)",
)
OF_GROUPS = (
    "avg(n), avg(p), avg(k), avg(b)",
    "avg(p) + 1, round(avg(k), 2), avg(b)::text, coalesce(avg(n), 0), max(p) - avg(p)",
    "stddev(p), variance(k), stddev_pop(n), avg(p) FILTER (WHERE k > 5)",
    "avg(DISTINCT g), count(*) / 2, sum(k) / count(*), sum(p) / 7",
)


@pytest.fixture(scope="module")
def ours(cluster: Cluster) -> Iterator[Connection]:
    with gateway.connect(
        cluster.url(cluster.database()), autocommit=True, dialect="postgres"
    ) as connection:
        for statement in SETUP:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def theirs(cluster: Cluster) -> Iterator[psycopg.Connection]:
    with psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True) as connection:
        for statement in SETUP:
            connection.execute(statement)
        yield connection


@pytest.mark.parametrize(
    "query",
    [
        *(f"SELECT {each} FROM t ORDER BY k" for each in OF_ROWS),
        *(f"SELECT {each} FROM t" for each in OF_GROUPS),
        *(f"SELECT g, {each} FROM t GROUP BY g ORDER BY g" for each in OF_GROUPS),
        "SELECT avg(p) OVER (PARTITION BY g ORDER BY k), stddev(k) OVER () FROM t ORDER BY k",
    ],
)
def test_values_are_those_of_an_ordinary_table(
    query: str, ours: Connection, theirs: psycopg.Connection
) -> None:
    wanted = repr(theirs.execute(query).fetchall())
    found = ours.execute(query)
    names = ", ".join(f"c{place}" for place in range(len(found.description or ())))
    assert repr(found.fetchall()) == wanted
    ours.execute(f"CREATE OR REPLACE VIEW v ({names}) AS {query}")
    assert repr(ours.execute("SELECT * FROM v").fetchall()) == wanted
    ours.execute("DROP VIEW v")
