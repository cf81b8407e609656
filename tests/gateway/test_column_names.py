"""Outputs without an alias have the names that the client's dialect gives them."""

from pathlib import Path

import duckdb
import psycopg
import pytest

import gateway
from tests.support.postgres import Cluster

TABLE = "CREATE TABLE t (x INTEGER, d DATE, s VARCHAR)"

DUCKDB = """
SELECT x::varchar, x::text, x::int8, CAST(d AS date), x IS NOT NULL, mod(x, 2), x ** 2 FROM t
SELECT DISTINCT d + INTERVAL 1 DAY, current_date, string_agg(s, ','), x AS n FROM t GROUP BY ALL
(SELECT date '2020-01-01', 'a,b') UNION ALL (SELECT '2020-01-01'::date, 'c')
WITH q AS (SELECT x::text FROM t) SELECT count(*), date_trunc('day', max(d)) FROM q, t
SELECT position('a' IN s), [x::int8, 2], {'a': x::int8} FROM t
""".strip().splitlines()

POSTGRES = """
count(*) | count
x::text | x
'1'::int | int4
CASE WHEN x = 1 THEN 2 END | case
CASE WHEN x = 1 THEN 2 ELSE x END | x
x + 1 | ?column?
now()::date | now
sum(x) OVER (ORDER BY x) | sum
mod(x, 2) | mod
x % 2 | ?column?
mod(x, 2) % 2 | ?column?
trim(s) | btrim
date '2020-01-01' | date
extract(year FROM d) | extract
(SELECT max(x) FROM t) | max
EXISTS (SELECT 1) | exists
s LIKE 'a' | ?column?
ARRAY[1, 2] | array
coalesce(x, 1) AS c | c
""".strip().splitlines()


def test_duckdb_names(tmp_path: Path) -> None:
    """DuckDB's own, of the words in which the client wrote them; in Arrow tables, too."""
    plain = duckdb.connect()
    plain.execute(TABLE)
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as ours:
        ours.execute(TABLE)
        for sql in DUCKDB:
            expected = [column[0] for column in plain.execute(sql).description or ()]
            cursor = ours.execute(sql)
            assert [column[0] for column in cursor.description or ()] == expected, sql
            assert cursor.fetch_arrow().column_names == expected, sql


def test_parameters_are_named_as_the_client_does(tmp_path: Path) -> None:
    """The names under which the gateway sends values stay its own affair."""
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as ours:
        cursor = ours.execute("SELECT :one + 1", {"one": 1})
        assert [column[0] for column in cursor.description or ()] == ["($one + 1)"]
        cursor = ours.execute("SELECT ? + 1", [1])
        assert [column[0] for column in cursor.description or ()] == ["($1 + 1)"]


def test_postgres_names(tmp_path: Path) -> None:
    """PostgreSQL's rules, though the store is none."""
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, dialect="postgres", autocommit=True) as ours:
        ours.execute(TABLE)
        for item, expected in (line.split(" | ") for line in POSTGRES):
            cursor = ours.execute(f"SELECT {item} FROM t")
            assert [column[0] for column in cursor.description or ()] == [expected], item


@pytest.mark.stores
def test_postgres_itself_names_them_so(cluster: Cluster) -> None:
    """The expectations above are those of a server."""
    with psycopg.connect(cluster.conninfo(cluster.database())) as plain:
        plain.execute(TABLE)
        for item, expected in (line.split(" | ") for line in POSTGRES):
            found = plain.execute(f"SELECT {item} FROM t".encode()).description or ()
            assert [column.name for column in found] == [expected], item


def test_returning_is_not_named_by_the_select_before_it(tmp_path: Path) -> None:
    """What a statement inserts stands before what it gives."""
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, dialect="postgres", autocommit=True) as ours:
        ours.execute(TABLE)
        cursor = ours.execute("INSERT INTO t (s) SELECT lower('A') RETURNING upper(s)")
        assert [column[0] for column in cursor.description or ()] == ["upper"]
        assert cursor.fetchall() == [("A",)]
