"""Statements that come often: the server keeps their plans, which follow what is defined."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.stores.postgres.journal import DatabaseJournal

_NAMES = ("_journal", "version_number", "subsequent_version_number")
_OFTEN = 6
"""More often than a plan is made anew each time."""
_COLUMNS = "id INTEGER PRIMARY KEY, grp INTEGER, name VARCHAR, at TIMESTAMPTZ"


@pytest.fixture(params=["tiered", "adopted"])
def con(
    connect: Callable[..., Connection],
    admin: psycopg.Connection[Any],
    request: pytest.FixtureRequest,
) -> Connection:
    """A connection to a database with a table of twenty rows."""
    con = connect()
    rows = "SELECT i, i % 2, 'n' || i, NULL::timestamptz"
    if request.param == "tiered":
        con.execute(f"CREATE TABLE t ({_COLUMNS})")
        con.execute(f"INSERT INTO t {rows} FROM range(20) AS r(i)")
        return con
    admin.execute(
        f"CREATE TABLE t_journal (id, grp, name, at, version_number, subsequent_version_number)"
        f" AS {rows}, TIMESTAMPTZ '2020-01-01', NULL::timestamptz FROM generate_series(0, 19) AS i"
    )
    admin.execute("CREATE UNIQUE INDEX ON t_journal (id, version_number)")
    adopt(con.session, "t", ("id",), _NAMES, run=True)
    return con


def _kept(con: Connection) -> list[str]:
    """The statements whose plans the server keeps for the connection that is used next."""
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    with journal.store.lent() as session:
        return [sql for (sql,) in session.text("SELECT statement FROM pg_prepared_statements")]


def test_plans_of_small_commits_are_kept(con: Connection) -> None:
    for i in range(_OFTEN):
        con.execute("INSERT INTO t VALUES (?, 1, 'new', NULL)", [100 + i])
        con.execute("BEGIN")
        con.execute("UPDATE t SET grp = grp + 1 WHERE id = ?", [i])
        con.execute("UPDATE t SET grp = grp + 1 WHERE id = ?", [i + 1])
        con.execute("COMMIT")
        con.execute("BEGIN")
        con.execute("DELETE FROM t WHERE id = ?", [i])
        con.execute("ROLLBACK")
    kept = _kept(con)
    assert any("grown" in sql for sql in kept)
    assert any("INSERT INTO" in sql and "refuses" in sql for sql in kept)
    found = con.execute("SELECT id, grp FROM t WHERE id < 8 ORDER BY id").fetchall()
    assert found == [(i, i % 2 + (i <= _OFTEN) + (0 < i < _OFTEN)) for i in range(8)]


def test_a_kept_plan_follows_definitions(con: Connection, url: str) -> None:
    def move() -> int:
        return con.execute("UPDATE t SET name = ? WHERE grp = ?", ["moved", "1"]).rowcount

    with gateway.connect(f"{url}?connect_timeout=14", autocommit=True) as other:
        assert [move() for _ in range(_OFTEN)] == [10] * _OFTEN
        other.execute("ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 7")
        assert [move() for _ in range(_OFTEN)] == [10] * _OFTEN
        other.execute("ALTER TABLE t DROP COLUMN grp")
        other.execute("ALTER TABLE t ADD COLUMN grp VARCHAR DEFAULT '1'")
        assert [move() for _ in range(_OFTEN)] == [20] * _OFTEN
    assert con.execute("SELECT DISTINCT name, more, grp FROM t").fetchall() == [("moved", 7, "1")]


def test_a_constant_is_read_in_the_time_zone_of_its_statement(con: Connection) -> None:
    sql = "UPDATE t SET at = TIMESTAMPTZ '2024-06-01 12:00:00' WHERE id = ?"
    for zone, hour in (("UTC", 12), ("America/New_York", 16), ("Asia/Tokyo", 3)):
        con.execute(f"SET TimeZone = '{zone}'")
        for i in range(_OFTEN):
            con.execute(sql, [i])
        found = con.execute("SELECT DISTINCT at FROM t WHERE id < ?", [_OFTEN]).fetchall()
        assert found == [(datetime(2024, 6, 1, hour, tzinfo=UTC),)]
