"""Constants beside values of an enum, under the dialect in which they are of that enum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

TABLES = (
    "CREATE SCHEMA s",
    "CREATE TYPE s.mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE TABLE s.t (k int PRIMARY KEY, m s.mood CHECK (m <> 'sad' OR k < 9))",
    "INSERT INTO s.t VALUES (1, 'happy'), (2, 'ok'), (3, 'sad'), (4, NULL)",
)


@contextmanager
def _opened(folder: Path) -> Iterator[Connection]:
    url = prepared_warehouse(folder / "w", TABLES, dialect="postgres")
    with gateway.connect(url, dialect="postgres", autocommit=True) as found:
        yield found


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with _opened(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A connection for tests whose statements change nothing."""
    with _opened(tmp_path_factory.mktemp("unchanged")) as found:
        yield found


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("m > 'ok'", [1]),
        ("'ok' >= m", [2, 3]),
        ("m BETWEEN 'sad' AND 'ok'", [2, 3]),
        ("m IN ('ok', 'sad')", [2, 3]),
        ("coalesce(m, 'sad') < 'ok'", [3, 4]),
        ("greatest(m, 'ok') = 'happy'", [1]),
        ("CASE WHEN k = 1 THEN 'sad' ELSE m END < 'ok'", [1, 3]),
        ("m > (SELECT min(q.m) FROM s.t AS q)", [1, 2]),
        ("k IN (SELECT x.k FROM (SELECT k, m AS n FROM s.t) AS x WHERE x.n > 'ok')", [1]),
        ("m IS DISTINCT FROM 'ok'", [1, 3, 4]),
    ],
)
def test_they_compare_by_place(unchanged: Connection, condition: str, keys: list[int]) -> None:
    rows = unchanged.execute(f"SELECT k FROM s.t WHERE {condition} ORDER BY k").fetchall()
    assert [k for (k,) in rows] == keys


def test_through_a_view_and_a_cte(con: Connection) -> None:
    con.execute("CREATE VIEW s.v AS SELECT k, m FROM s.t WHERE m < 'happy'")
    con.execute("ALTER TYPE s.mood ADD VALUE 'fine' BEFORE 'happy'")
    con.execute("UPDATE s.t SET m = 'fine' WHERE m = 'ok'")
    found = "WITH c AS (SELECT * FROM s.v) SELECT m FROM c WHERE m > 'ok'"
    assert con.execute(found).fetchall() == [("fine",)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM s.t WHERE m = 'bad'",
        "UPDATE s.t SET m = 'bad' WHERE k = 77",
        "INSERT INTO s.t VALUES (7, 'bad')",
        "SELECT 'bad'::s.mood",
        "SELECT 'x'::int",
    ],
)
def test_values_that_an_enum_lacks_are_refused(unchanged: Connection, sql: str) -> None:
    with pytest.raises(gateway.DataError) as raised:
        unchanged.execute(sql).fetchall()
    assert raised.value.sqlstate == "22P02"


def test_a_parameter_is_of_the_enum(con: Connection) -> None:
    assert con.execute("SELECT k FROM s.t WHERE m > %s", ["ok"]).fetchall() == [(1,)]
    con.execute("PREPARE q (s.mood) AS SELECT k FROM s.t WHERE m > $1")
    assert con.execute("EXECUTE q('ok')").fetchall() == [(1,)]


def test_columns_are_named_as_written(con: Connection) -> None:
    shown = con.execute("SELECT m = 'ok', greatest(m, 'ok') FROM s.t").description
    assert shown is not None
    assert [column[0] for column in shown] == ["?column?", "greatest"]


def test_a_table_of_a_query_keeps_the_enum(con: Connection) -> None:
    con.execute("CREATE TABLE s.u AS SELECT k + 1 AS k, m FROM s.t")
    con.execute("ALTER TYPE s.mood ADD VALUE 'fine'")
    con.execute("INSERT INTO s.u VALUES (9, 'fine')")
    assert con.execute("SELECT max(m) FROM s.u WHERE m > 'ok'").fetchall() == [("fine",)]


def test_a_table_of_a_query_keeps_collations() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE, b VARCHAR)")
        con.execute("INSERT INTO t VALUES ('A', 'A')")
        con.execute("CREATE TABLE u AS SELECT b, a AS c FROM t")
        assert con.execute("SELECT * FROM u WHERE c = 'a'").fetchall() == [("A", "A")]
        assert con.execute("SELECT * FROM u WHERE b = 'a'").fetchall() == []


def test_readers_of_files_take_them_by_name(con: Connection, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("m,k\nok,1\nsad,2\n")
    for option in ("columns = {'m': 's.mood', 'k': 'int'}", "types = ['s.mood', 'int']"):
        query = f"SELECT max(m) FROM read_csv('{tmp_path}/f.csv', {option})"
        assert con.execute(query).fetchall() == [("ok",)]
