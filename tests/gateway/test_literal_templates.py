"""Statements that differ in their literals alone are planned once, and mean what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.session.literal_templates import Templated
from gateway.session.session import Session

_TABLE = """
    CREATE TABLE t (k INTEGER PRIMARY KEY, name VARCHAR(5), price DECIMAL(6, 2), day DATE,
        at TIMESTAMP, yes BOOLEAN DEFAULT true, x DOUBLE, code CHAR(3))
"""
_ROWS = "INSERT INTO t (k, name, x, code) VALUES (1, 'x', 0, 'ab'), (2, 'y', 0, 'ab')"
_AS_WRITTEN = " --"
"""A comment keeps the literals of a text where they are."""


@pytest.fixture(params=["duckdb", "postgres"])
def con(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection in a dialect, to a table with rows."""
    with gateway.connect("palimpsest://", dialect=request.param, autocommit=True) as found:
        found.execute(_TABLE)
        found.execute(_ROWS + _AS_WRITTEN)
        yield found


def _is_templated(con: Connection, sql: str) -> bool:
    """True if a text is run without its literals."""
    assert isinstance(con.client_session, Session)
    return isinstance(con.client_session.to_run(sql)[0], Templated)


def _told(con: Connection, sql: str) -> tuple[Any, ...]:
    """All that a statement tells, and what the table holds after it."""
    rows = "SELECT * FROM t ORDER BY k"
    try:
        cursor = con.execute(sql)
    except Error as error:
        return type(error), error.sqlstate, str(error).replace(_AS_WRITTEN, "")
    found = cursor.fetchall() if cursor.description else None
    return cursor.rowcount, cursor.description, found, con.execute(rows).fetchall()


def _told_twice(con: Connection, statements: list[str]) -> tuple[list[Any], list[Any]]:
    """What statements tell as templates, and as they are written."""
    found: list[list[Any]] = []
    for behind in ("", _AS_WRITTEN):
        con.execute("BEGIN")
        found.append([_told(con, sql + behind) for sql in statements])
        con.execute("ROLLBACK")
    return found[0], found[1]


_TEMPLATED = (
    "INSERT INTO t VALUES (1{k}, 'it''s', 1.25, '2024-02-29', NULL, TRUE, 1.5, 'ab')",
    "insert into t (k, name, x) values (1{k}, 'b', -2)",
    "INSERT INTO t (k, at) VALUES (1{k}, '2024-02-29 12:30:00'::timestamp)",
    "INSERT INTO t (k, day) VALUES (1{k}, '2024-02-29'::date)",
    "INSERT INTO t (k, day) VALUES (1{k}, DATE '2024-02-29')",
    "INSERT INTO t (day, at, k) VALUES (date '2024-02-29',timestamp  '2024-02-29 12:30:00' , {k})",
    "INSERT INTO t (day, k) VALUES (date '2024-02-29', 1{k}), (date  '2024-03-0{k}', 2{k})",
    "INSERT INTO t (k, at) VALUES (1{k}, DATE '2024-02-29'), (2{k}, DATE '2024-02-28')",
    "INSERT INTO t (k, name) VALUES (1{k}, DATE '2024-02-29')",
    "INSERT INTO t (k, yes) VALUES ({k}, DEFAULT) ON CONFLICT (k) DO NOTHING RETURNING k, yes",
    "INSERT INTO t (k, name) VALUES (1{k}, 'a'), (-{k}, NULL), (10{k}, 'c')",
    "UPDATE t SET name = 'n{k}', price = 9.99, x = x + 1 WHERE k = {k}",
    "UPDATE t SET day = '2024-02-2{k}', at = '2024-02-29T12:00:0{k}'::timestamp WHERE k = {k}",
    "UPDATE t SET at = '2024-02-29 12:00:0{k}+02:00'::timestamptz WHERE t.k = {k}",
    "UPDATE t SET name = NULL WHERE (t.k = {k} AND name = 'x')",
    "DELETE FROM t WHERE k = {k} AND code = 'ab'",
    "SELECT k, name, 7 AS n, 'lit' FROM t WHERE k = {k} LIMIT 21",
    "SELECT k = 1, x FROM t WHERE k = {k}",
    "UPDATE t SET x = {k} WHERE k = 2 RETURNING k, k = 2",
)
_AS_THEY_ARE = (
    "INSERT INTO t (k, day) VALUES (1{k}, DATE 'epoch')",
    "INSERT INTO t (k, day) VALUES (1{k}, DATE '2024-02-29'::date)",
    "INSERT INTO t (k, day) VALUES (1{k}, DATE '2024-02-29'), (2{k}, NULL)",
    "INSERT INTO t (k, day) VALUES (1{k}, DATE '2024-02-29'), (2{k}, DATE NULL)",
    "INSERT INTO t (k, at) VALUES (1{k}, TIMESTAMP '2024-02-29 12:30:00+02')",
    "INSERT INTO t (k, day) VALUES (DATE '2024-02-29', 1{k})",
    "SELECT k FROM t WHERE k = '{k}'",
    "SELECT k FROM t WHERE name = {k} AND k = {k}",
    "UPDATE t SET day = 'infinity' WHERE x = {k}",
    "SELECT count(*) FROM t WHERE k = {k} GROUP BY name",
    "DELETE FROM t WHERE name = 'x{k}'",
)


@pytest.mark.first(16)
@pytest.mark.parametrize("statement", [*_TEMPLATED, *_AS_THEY_ARE])
def test_a_statement_means_what_its_text_says(con: Connection, statement: str) -> None:
    templated, written = _told_twice(con, [statement.format(k=k) for k in (1, 2, 3)])
    assert templated == written
    assert _is_templated(con, statement.format(k=4)) == (statement in _TEMPLATED)


@pytest.mark.parametrize("dialect", ["spark", "hive"])
def test_a_cast_that_gives_null_stands_for_no_type_before_a_text(dialect: str) -> None:
    with gateway.connect("palimpsest://", dialect=dialect, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INT, day DATE)")
        for k in range(3):
            sql = f"INSERT INTO t VALUES ({k}, DATE '2024-02-29')"
            con.execute(sql)
        assert not _is_templated(con, sql)
        assert con.execute("SELECT count(*) FROM t WHERE day IS NOT NULL").fetchall() == [(3,)]


def test_errors_are_those_of_the_text(con: Connection) -> None:
    """Each is told once, with the place where the client wrote what is wrong."""
    for wrong in (
        "INSERT INTO t (k, name) VALUES ({k}, 'longer')",
        "INSERT INTO t (k, day) VALUES (9{k}, '2024-02-30')",
        "INSERT INTO t (k, day) VALUES (9{k}, DATE '2024-02-30')",
        "INSERT INTO t (k) VALUES (9{k}), (8{k}), ({k})",
        "UPDATE t SET k = 2 WHERE k = 1",
        "UPDATE t SET nothing = 2 WHERE k = {k}",
    ):
        texts = [wrong.format(k=k) for k in (1, 1, 1)]
        told = [_told(con, text) for text in texts]
        assert told == [_told(con, text + _AS_WRITTEN) for text in texts]
        assert isinstance(told[-1][0], type)
        con.execute("BEGIN")
        assert _told(con, texts[0]) == told[0]
        assert "25P02" in _told(con, "SELECT 1")
        con.execute("ROLLBACK")


def test_definitions_that_change_are_heeded(con: Connection) -> None:
    texts = [f"INSERT INTO t (k, name) VALUES ({k}, 'a')" for k in range(10, 16)]
    for text in texts[:3]:
        con.execute(text)
    con.execute("DROP TABLE t")
    con.execute("CREATE TABLE t (name VARCHAR, k BIGINT PRIMARY KEY, v INTEGER DEFAULT 5)")
    for text in texts:
        con.execute(text)
    assert con.execute("SELECT * FROM t WHERE k = 12").fetchall() == [("a", 12, 5)]


def test_what_is_recorded_names_the_shape(con: Connection) -> None:
    for k in (20, 30, 40):
        con.execute(f"INSERT INTO t (k, name) VALUES ({k}, 'a'), ({k + 1}, 'b'), ({k + 2}, 'c')")
        con.execute(f"INSERT INTO t (k, day) VALUES ({k + 3}, DATE '2024-02-2{k // 10}')")
    shapes = con.execute(
        "SELECT DISTINCT s.statement FROM system.transactions AS c"
        " JOIN system.statements AS s ON s.digest = c.statement_digest"
        " WHERE s.statement LIKE 'INSERT INTO t (k, %' AND s.statement NOT LIKE '%code%'"
        " ORDER BY s.statement"
    ).fetchall()
    assert shapes == [
        ("INSERT INTO t (k, day) VALUES (?, DATE ?)",),
        ("INSERT INTO t (k, name) VALUES (?, ?)",),
    ]
