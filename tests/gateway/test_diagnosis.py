"""Errors of the store point into the client's text and name nothing the client does not know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection

CASES = [
    ("SELECT bogus FROM t", "42703", (1, 8)),
    ("SELECT a,\n  t.bogus FROM t", "42703", (2, 5)),
    ("SELECT a FROM t ORDER BY nope", "42703", (1, 26)),
    ("SELECT x.a FROM t", "42P01", (1, 8)),
    ("SELECT a FROM t JOIN u ON true", "42702", (1, 8)),
    ("SELECT a, count(*) FROM t", "42803", (1, 8)),
    ("SELECT foo(a) FROM t", "42883", (1, 8)),
    ("SELECT sum(b) FROM t", "42883", (1, 8)),
    ("SELECT CAST('abc' AS INTEGER)", "22018", (1, 13)),
    ("SELECT b::INTEGER FROM t", "22018", (1, 8)),
    ("DELETE FROM t WHERE nope = 1", "42703", (1, 21)),
    ("UPDATE t SET a = nope", "42703", (1, 18)),
    ("SELECT * FROM nope", "42P01", (1, 15)),
    ("SELECT s.t.a FROM t, main.u", "42P01", (1, 10)),
]


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as made:
        made.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        made.execute("CREATE TABLE u (a INTEGER PRIMARY KEY)")
        made.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        made.execute("DELETE FROM t WHERE a = 2")
        yield made


@pytest.mark.parametrize(("sql", "sqlstate", "place"), CASES)
@pytest.mark.parametrize("flushed", [False, True])
def test_position_and_words(
    con: Connection, sql: str, sqlstate: str, place: tuple[int, int], flushed: bool
) -> None:
    if flushed:
        con.execute("CALL system.flush()")
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
