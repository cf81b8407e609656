"""A row that breaks a constraint is refused once, by every form of statement in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import gateway
from gateway.dbapi.connection import Connection

ODD = "x {0} ] y \n "
CUT_OFF = "x ] y\n\nLINE 1: "
ROWS = [
    ((1, ODD, 1, 4), "23505"),
    ((1, CUT_OFF, 1, 4), "23505"),
    ((None, "x", 1, 4), "23502"),
    ((2, None, None, 4), "23502"),
    ((2, "q", None, 1), "23502"),
    ((2, "q", 3, 1), "23514"),
]


@contextmanager
def _opened(tier: str) -> Iterator[Connection]:
    """A connection to a warehouse of which all rows are in one tier."""
    with gateway.connect("palimpsest://", autocommit=True) as made:
        made.execute(
            "CREATE TABLE t (a INTEGER, b VARCHAR, n INTEGER NOT NULL, m INTEGER CHECK (m > 3),"
            " made BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (a, b))"
        )
        for text in (ODD, CUT_OFF):
            made.execute("INSERT INTO t (a, b, n, m) VALUES (?, ?, ?, ?)", (1, text, 1, 4))
        if tier == "sealed":
            made.execute("CALL system.flush()")
        yield made


@pytest.fixture(params=["head", "sealed"])
def con(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with _opened(request.param) as made:
        yield made


@pytest.fixture(scope="module", params=["head", "sealed"])
def unchanged(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection for tests all of whose statements are refused."""
    with _opened(request.param) as made:
        yield made


def _refusal(con: Connection, sql: str, row: tuple[object, ...]) -> tuple[str, str, str]:
    with pytest.raises(gateway.IntegrityError) as caught:
        con.execute(sql, row)
    return caught.value.sqlstate, str(caught.value), caught.value.advice


@pytest.mark.parametrize(("row", "sqlstate"), ROWS)
@pytest.mark.parametrize("autocommit", [True, False])
def test_one_row_is_refused_as_many_are(
    unchanged: Connection, row: tuple[object, ...], sqlstate: str, autocommit: bool
) -> None:
    con = unchanged
    con.autocommit = autocommit
    one = _refusal(con, "INSERT INTO t (a, b, n, m) VALUES (?, ?, ?, ?)", row)
    con.rollback()
    many = _refusal(con, "INSERT INTO t (a, b, n, m) SELECT ?, ?, ?, ?", row)
    con.rollback()
    assert one == many
    assert one[0] == sqlstate


def test_a_change_by_key_is_refused_as_that_of_many_rows(con: Connection) -> None:
    for change in ("n = NULL", "m = 0"):
        one = _refusal(con, f"UPDATE t SET {change} WHERE a = ? AND b = ?", (1, ODD))
        assert one == _refusal(con, f"UPDATE t SET {change} WHERE a = ?", (1,))


def test_a_refused_row_uses_up_one_number(con: Connection) -> None:
    for row in [(1, ODD, 1, 4), (2, "q", None, 4), (2, "q", 3, 1)]:
        _refusal(con, "INSERT INTO t (a, b, n, m) VALUES (?, ?, ?, ?)", row)
    con.execute("INSERT INTO t (a, b, n, m) VALUES (2, 'q', 3, 5)")
    assert con.execute("SELECT made FROM t ORDER BY made").fetchall() == [(1,), (2,), (6,)]


def test_a_failure_of_the_clients_own_is_told_as_it_is(con: Connection) -> None:
    with pytest.raises(gateway.DataError, match="boom"):
        con.execute("INSERT INTO t (a, b, n, m) VALUES (2, error('boom'), 1, 4)")
