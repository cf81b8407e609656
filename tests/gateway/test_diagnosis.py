"""Errors of the store point into the client's text and name nothing the client does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

CASES = [
    ("SELECT bogus FROM t", "42703", (1, 8)),
    ("SELECT a,\n  t.bogus FROM t", "42703", (2, 5)),
    ("SELECT a FROM t ORDER BY nope", "42703", (1, 26)),
    ("SELECT x.a FROM t", "42P01", (1, 8)),
    ("SELECT a FROM t JOIN u ON true", "42702", (1, 8)),
    ("SELECT a, count(*) FROM t", "42803", (1, 8)),
    ("SELECT foo(a) FROM t", "42883", (1, 8)),
    ("SELECT sum(b) FROM t", "42883", (1, 8)),
    ("SELECT CAST('abc' AS INTEGER)", "22P02", (1, 13)),
    ("SELECT b::INTEGER FROM t", "22P02", (1, 8)),
    ("DELETE FROM t WHERE nope = 1", "42703", (1, 21)),
    ("UPDATE t SET a = nope", "42703", (1, 18)),
    ("SELECT * FROM nope", "42P01", (1, 15)),
    ("SELECT s.t.a FROM t, main.u", "42P01", (1, 10)),
    ("INSERT INTO t VALUES (3, 'z', 4)", "42601", (1, 31)),
    ("INSERT INTO t VALUES (3)", "42601", (1, 23)),
    ("INSERT INTO t (a,\n  b) VALUES (3)", "42601", (2, 3)),
    ("INSERT INTO t (b) VALUES ('x'), (upper('y'), max(3, 4))", "42601", (1, 46)),
    ("INSERT INTO t VALUES (3, 'x'), (4)", "42601", (1, 33)),
    ("INSERT INTO t (b) SELECT DISTINCT b, [1, 2], 3 FROM t", "42601", (1, 38)),
    ("INSERT INTO t (b) WITH q AS (SELECT 1, 2) (SELECT b, a FROM t)", "42601", (1, 54)),
    ("INSERT INTO t (b) SELECT t.*, 3 FROM t", "42601", (1, 26)),
    ("INSERT OR REPLACE INTO t VALUES (1, 2, 3)", "42601", (1, 40)),
    (
        "MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1, 2)",
        "42601",
        (1, 79),
    ),
]


TABLES = (
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)",
    "CREATE TABLE u (a INTEGER PRIMARY KEY)",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
    "DELETE FROM t WHERE a = 2",
)


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(prepared_warehouse(tmp_path / "w", TABLES), autocommit=True) as made:
        yield made


@pytest.fixture(scope="module", params=["in the head", "sealed"])
def unchanged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    """A connection for statements that fail, with its rows in either tier."""
    place = tmp_path_factory.mktemp("unchanged") / "w"
    with gateway.connect(prepared_warehouse(place, TABLES), autocommit=True) as made:
        if request.param == "sealed":
            made.execute("CALL system.flush()")
        yield made


@pytest.mark.parametrize(("sql", "sqlstate", "place"), CASES)
def test_errors_name_the_place_in_the_clients_text(
    unchanged: Connection, sql: str, sqlstate: str, place: tuple[int, int]
) -> None:
    con = unchanged
    with pytest.raises(gateway.Error) as caught:
        con.execute(sql).fetchall()
    error = caught.value
    assert error.sqlstate == sqlstate
    assert error.position is not None
    assert (error.position.line, error.position.column) == place
    for internal in ("_palimpsest", "subsequent_version", "tx1_", "t1_head"):
        assert internal not in str(error)


def test_conversions_keep_the_value(con: Connection) -> None:
    with pytest.raises(gateway.DataError, match="'abc'"):
        con.execute("SELECT CAST('abc' AS INTEGER)").fetchall()


def test_advice_names_what_there_is(con: Connection) -> None:
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute("SELECT bb FROM t")
    assert caught.value.advice == "did you mean b?"


@pytest.fixture(scope="module")
def related(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A connection for statements that fail, with another table and a view beside the first."""
    more = (
        "CREATE TABLE w (id INTEGER PRIMARY KEY, name VARCHAR)",
        "INSERT INTO w VALUES (1, 'n')",
        "CREATE VIEW v AS SELECT a, b AS beta FROM t",
    )
    place = tmp_path_factory.mktemp("related") / "w"
    with gateway.connect(prepared_warehouse(place, [*TABLES, *more]), autocommit=True) as made:
        yield made


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT zzz FROM t", "a, b"),
        ("SELECT zzz FROM w, t", "id, name, a, b"),
        ("SELECT w.zzz FROM t, w", "id, name"),
        ("SELECT (SELECT zzz FROM w WHERE id = t.a) FROM t", "id, name, a, b"),
        ("WITH q AS (SELECT a AS one FROM t) SELECT zzz FROM q", "one"),
        ("WITH q AS (SELECT zzz FROM w) SELECT * FROM q, t", "id, name"),
        ("SELECT zzz FROM (SELECT a AS x FROM t) AS s", "x"),
        ("SELECT zzz FROM v", "a, beta"),
        ("UPDATE t SET b = zzz FROM w WHERE w.id = t.a", "a, b, id, name"),
        ("UPDATE t SET b = w.zzz FROM w WHERE w.id = t.a", "id, name"),
        ("DELETE FROM t USING w WHERE zzz = 1", "a, b, id, name"),
        ("MERGE INTO t USING w ON id = a WHEN MATCHED THEN UPDATE SET b = zzz", "a, b, id, name"),
        ("INSERT INTO t SELECT zzz, name FROM w", "id, name"),
        ("INSERT INTO t VALUES (1, '') ON CONFLICT (a) DO UPDATE SET b = excluded.zzz", "a, b"),
        ("INSERT INTO t VALUES (7, '') RETURNING zzz", "a, b"),
    ],
)
def test_advice_names_every_column_in_reach_the_nearest_first(
    related: Connection, sql: str, names: str
) -> None:
    with pytest.raises(gateway.ProgrammingError) as caught:
        related.execute(sql).fetchall()
    assert caught.value.advice == f"names in reach: {names}"


def test_advice_of_a_wide_table_is_bounded(con: Connection) -> None:
    columns = ", ".join(f"c{i} INTEGER" for i in range(30))
    con.execute(f"CREATE TABLE wide (k INTEGER PRIMARY KEY, {columns})")
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute("SELECT zzz FROM wide")
    assert caught.value.advice.startswith("names in reach: k, c0, c1, ")
    assert caught.value.advice.endswith("c18 and 11 more")


@pytest.mark.parametrize(
    ("sql", "column", "advice"),
    [
        ("CREATE TABLE made (x_ INTGER PRIMARY KEY)", 23, "did you mean INTEGER?"),
        ("ALTER TABLE t ADD COLUMN z VARCHR", 28, "did you mean VARCHAR?"),
        ("CALL system.compct('t')", None, "did you mean system.compact?"),
        ("SELECT a, CAST(b AS INTGER) FROM t", 21, "did you mean INTEGER?"),
        (
            "SELECT CAST(b AS REGCLASS) FROM t",
            18,
            "numbers of objects are known to statements that read pg_catalog alone",
        ),
        ("SELECT * FROM nowhere.t", 23, "there is no schema nowhere; did you mean main.t?"),
    ],
)
def test_types_and_procedures_that_are_misspelt(
    con: Connection, sql: str, column: int | None, advice: str
) -> None:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    assert raised.value.advice == advice
    position = raised.value.position
    assert (None if position is None else position.column) == column


@pytest.mark.parametrize(
    "sql",
    [
        "CALL system.compact('orderss')",
        "OPTIMIZE orderss",
        "CALL system.backup('orderss', name => 'x')",
    ],
)
def test_jobs_on_a_misspelt_table_name_those_that_their_user_sees(
    con: Connection, sql: str
) -> None:
    con.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    con.execute("CREATE ROLE ann")
    con.execute("GRANT MAINTAIN ON SYSTEM TO ann")
    with pytest.raises(gateway.ProgrammingError) as raised:
        con.execute(sql)
    assert raised.value.advice == "did you mean main.orders?"
    con.execute("SET ROLE ann")
    with pytest.raises(gateway.ProgrammingError) as raised:
        con.execute(sql)
    assert "main.orders?" not in str(raised.value)


def test_what_a_store_lacks_is_told_in_words_of_sql(con: Connection) -> None:
    with pytest.raises(gateway.NotSupportedError, match=r"this: TO_CHAR takes no FORMAT there"):
        con.execute("SELECT to_char(DATE '2024-01-02', 'YYYY')")
