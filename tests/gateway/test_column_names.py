"""Outputs without an alias have the names that the client's dialect gives them."""

from pathlib import Path

import duckdb
import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster

TABLE = "CREATE TABLE t (x INTEGER, d DATE, s VARCHAR)"

DUCKDB = """
SELECT x::varchar, x::text, x::int8, CAST(d AS date), x IS NOT NULL, mod(x, 2), x ** 2 FROM t
SELECT DISTINCT d + INTERVAL 1 DAY, current_date, string_agg(s, ','), x AS n FROM t GROUP BY ALL
(SELECT date '2020-01-01', 'a,b') UNION ALL (SELECT '2020-01-01'::date, 'c')
WITH q AS (SELECT x::text FROM t) SELECT count(*), date_trunc('day', max(d)) FROM q, t
SELECT position('a' IN s), [x::int8, 2], {'a': x::int8} FROM t
SELECT * LIKE 's' FROM t
SELECT *, (SELECT max(i) FROM one) FROM one
SELECT EXISTS (FROM t), one.*, i::int8 FROM one
SELECT x::int8, *, COLUMNS('[ds]'), d::text, (SELECT 1) FROM t
SELECT t.* NOT LIKE 's', x + 1 FROM t
SELECT (t.x), ((t.d)), dayofyear(t.d) FROM t ORDER BY x
SELECT COLUMNS('[ds]'), count(*) FROM t GROUP BY ALL
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
mod(x, 2)::text::double precision | mod
mod(x, 2)::numeric(3, 1) + 1 | ?column?
upper('a')::text LIKE 'A' | ?column?
trim(s) | btrim
date '2020-01-01' | date
extract(year FROM d) | extract
(SELECT max(x) FROM t) | max
EXISTS (SELECT 1) | exists
s LIKE 'a' | ?column?
ARRAY[1, 2] | array
now() AT TIME ZONE 'UTC' | timezone
s SIMILAR TO 'a%' | ?column?
to_date(s, 'DD Mon YYYY') | to_date
coalesce(x, 1) AS c | c
""".strip().splitlines()

BY_NAMES = """
SELECT x::text FROM t ORDER BY x
SELECT x::text, s FROM t ORDER BY x DESC
SELECT s, count(*) FROM t GROUP BY s ORDER BY count, s
SELECT DISTINCT x::text FROM t ORDER BY x
SELECT x::text FROM t UNION SELECT '5' ORDER BY x
SELECT DISTINCT ON (s) upper(s) AS s, x FROM t ORDER BY s, x
SELECT x FROM (SELECT x::text FROM t ORDER BY x LIMIT 2) q ORDER BY 1
SELECT q.max FROM (SELECT max(x) FROM t) q
WITH q AS (SELECT x::text, x + 1 FROM t) SELECT x, "?column?" FROM q ORDER BY x
SELECT x.row_number FROM (SELECT row_number() OVER (ORDER BY x) FROM t) x ORDER BY 1
SELECT q.current_date IS NULL FROM (SELECT current_date) q
SELECT generate_series FROM (SELECT generate_series(1, 2)) q ORDER BY 1
SELECT * FROM u ORDER BY x
SELECT count FROM v ORDER BY count
SELECT column1, q.column2 FROM (VALUES (1, 2), (3, 4)) q ORDER BY 1
SELECT a, column2 FROM (VALUES (1, 2), (3, 4)) q(a) ORDER BY 1
WITH q AS (VALUES (1, 2)) SELECT column2 FROM q
SELECT column2, column1 FROM w ORDER BY 1
VALUES (1, 2), (3, 4)
SELECT -x, *, count(*) OVER (), 1 FROM t ORDER BY x
SELECT t.*, upper(s) FROM t ORDER BY x
SELECT *, upper(t.s) FROM t JOIN v USING (s) ORDER BY x
""".strip().splitlines()
"""Queries that name outputs which have no alias."""
NAMING = (
    "INSERT INTO t (x, s) VALUES (1, 'a'), (10, 'b'), (9, 'a')",
    "CREATE TABLE u AS SELECT x::text, count(*), 'a' FROM t GROUP BY x",
    "CREATE VIEW v AS SELECT s, count(*) FROM t GROUP BY s",
    "CREATE TABLE w AS VALUES (1, 'x'), (2, 'y')",
)


def test_duckdb_names(tmp_path: Path) -> None:
    """DuckDB's own, of the words in which the client wrote them; in Arrow tables, too."""
    plain = duckdb.connect()
    plain.execute(f"{TABLE}; CREATE TABLE one (i INTEGER)")
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as ours:
        ours.execute(TABLE)
        ours.execute("CREATE TABLE one (i INTEGER)")
        for sql in DUCKDB:
            expected = [column[0] for column in plain.execute(sql).description or ()]
            cursor = ours.execute(sql)
            assert [column[0] for column in cursor.description or ()] == expected, sql
            assert cursor.fetch_arrow().column_names == expected, sql


@pytest.mark.parametrize("sql", ["SELECT count(*), sum(x), x + 1, (t.d), 1 FROM t GROUP BY x, d"])
def test_other_stores_name_outputs_as_duckdb_does(sql: str, cluster: Cluster) -> None:
    """A store that calls ``x + 1`` otherwise is not asked."""
    plain = duckdb.connect()
    url = cluster.url(cluster.database())
    with gateway.connect(url, dialect="duckdb", autocommit=True) as ours:
        for con in (plain, ours):
            con.execute(TABLE)
        names = [column[0] for column in plain.execute(sql).description or ()]
        assert [column[0] for column in ours.execute(sql).description or ()] == names


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


def test_names_without_an_alias_are_found_as_postgres_finds_them(
    tmp_path: Path, cluster: Cluster
) -> None:
    """In ORDER BY, and by the query around them, on a store that names them otherwise."""
    url = f"palimpsest:///{tmp_path}/w"
    with (
        psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True) as plain,
        gateway.connect(url, dialect="postgres", autocommit=True) as ours,
    ):
        for sql in (TABLE, *NAMING):
            plain.execute(sql.encode())
            ours.execute(sql)
        for sql in BY_NAMES:
            expected, got = plain.execute(sql.encode()), ours.execute(sql)
            names = [column.name for column in expected.description or ()]
            assert [column[0] for column in got.description or ()] == names, sql
            assert got.fetchall() == expected.fetchall(), sql


def test_columns_of_the_past_are_named_as_those_of_now(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
        con.execute("INSERT INTO t VALUES (1, 2)")
        outputs = "b IS NOT NULL, b NOT IN (1, 2), count(*), max(a) OVER (PARTITION BY b)"
        past = "t FOR SYSTEM_TIME AS OF"
        con.execute(f"PREPARE now_ AS SELECT {outputs} FROM {past} now() GROUP BY a, b")
        con.execute(f"PREPARE then_ AS SELECT {outputs} FROM {past} $1::TIMESTAMPTZ GROUP BY a, b")
        wanted = _names(con, f"SELECT {outputs} FROM t GROUP BY a, b")
        assert wanted[0] == "(b IS NOT NULL)"
        for statement in (
            f"SELECT {outputs} FROM {past} now() GROUP BY a, b",
            "EXECUTE now_",
            "EXECUTE then_('2100-01-01')",
        ):
            assert _names(con, statement) == wanted, statement


def _names(con: Connection, statement: str) -> list[str]:
    return [column[0] for column in con.execute(statement).description or ()]
