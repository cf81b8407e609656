"""Statements that differ in their literals alone are planned once, and mean what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection

_TABLE = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, name VARCHAR(5), price DECIMAL(6, 2), day DATE,"
    " at TIMESTAMP, yes BOOLEAN DEFAULT true, x DOUBLE, code CHAR(3))"
)
_ROUNDS = 4


@pytest.fixture(params=["duckdb", "postgres"])
def con(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection in a dialect, to a table with a row."""
    with gateway.connect("palimpsest://", dialect=request.param, autocommit=True) as found:
        found.execute(_TABLE)
        yield found


def _templates(con: Connection) -> int:
    """How many statements are planned without their literals."""
    known = con.client_session.executor.planner.templates._known  # type: ignore[attr-defined]
    return sum(found.template is not None for found in known.values())


def _rows(con: Connection) -> list[tuple[Any, ...]]:
    return con.execute("SELECT * FROM t ORDER BY k").fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES ({k}, 'it''s', 1.25, '2024-02-29', NULL, TRUE, 1.5, 'ab')",
        "insert into t (k, name, x) values ({k}, 'b', -2)",
        "INSERT INTO t (k, at, day) VALUES ({k}, '2024-02-29 12:30:00'::timestamp,"
        " '2024-02-29'::date)",
        "INSERT INTO t (k, yes) VALUES ({k}, DEFAULT) ON CONFLICT (k) DO NOTHING RETURNING k, yes",
        "INSERT INTO t (k, name) VALUES ({k}, 'a'), (-{k}, NULL), (1{k}, 'c')",
        "UPDATE t SET name = 'n{k}', price = 9.99, x = x + 1 WHERE k = {k}",
        "UPDATE t SET name = NULL WHERE (t.k = {k} AND name = 'x')",
        "DELETE FROM t WHERE k = {k} AND code = 'ab'",
        "SELECT k, name, 7 AS n, 'lit' FROM t WHERE k = {k} LIMIT 21",
    ],
)
def test_it_means_what_the_text_says(con: Connection, statement: str) -> None:
    con.execute("INSERT INTO t (k, name, x, code) VALUES (1, 'x', 0, 'ab'), (2, 'y', 0, 'ab')")
    found: list[Any] = []
    for other in ("", "WITH nothing AS (SELECT 1) " if "INSERT" not in statement.upper() else "  "):
        con.execute("BEGIN")
        told = []
        for k in range(1, _ROUNDS):
            # A comment keeps a statement from being taken apart.
            text = f"{other}{statement.format(k=k + (6 if 'nsert' in statement.lower() else 0))}"
            cursor = con.execute(text + (" -- " if other else ""))
            rows = cursor.fetchall() if cursor.description else None
            told.append((cursor.rowcount, cursor.description, rows))
        found.append((told, _rows(con)))
        assert bool(_templates(con)) is True, statement
        con.execute("ROLLBACK")
    assert found[0] == found[1]
