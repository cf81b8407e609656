"""What a legal hold covers in an adopted journal, which classic tools write to."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.support import under_hold

pytestmark = pytest.mark.stores

CLASSIC = ("_journal", "version_number", "subsequent_version_number")


@pytest.mark.parametrize("waits", ["accepted", "run"])
def test_an_adopted_journal_lets_what_is_held_be_written(
    con: Connection, admin: psycopg.Connection[Any], waits: str
) -> None:
    admin.execute(
        "CREATE TABLE t_journal (k INTEGER NOT NULL, mail TEXT, n INTEGER,"
        " version_number TIMESTAMPTZ NOT NULL, subsequent_version_number TIMESTAMPTZ)"
    )
    write = (
        "INSERT INTO t_journal (k, mail, n, version_number)"
        " VALUES (%s, %s, %s, clock_timestamp() - INTERVAL '1 second')"
    )
    for k, mail in ((1, under_hold.ADA), (2, under_hold.BOB), (3, "cyd@x.example")):
        admin.execute(write, [k, mail, k])
    adopt(con.session, "t", ("k",), CLASSIC, run=True)
    con.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'mail LOWER AS email')")
    name = under_hold.hold(con)
    under_hold.submit(con)
    if waits == "run":
        under_hold.run(con)
    assert under_hold.rows(con, "SELECT k, n FROM t ORDER BY k") == [(1, 1), (3, 3)]
    assert admin.execute("SELECT k FROM t ORDER BY k").fetchall() == [(1,), (3,)]
    admin.execute(write, [1, under_hold.ADA, 21])
    con.execute("UPDATE t SET n = n + 1 WHERE k = 1")
    assert under_hold.rows(con, "SELECT n FROM t WHERE k = 1") == [(22,)]
    for k, mail in ((2, "new@x.example"), (4, under_hold.BOB), (4, under_hold.ADA)):
        with pytest.raises(psycopg.Error, match="erased"):
            admin.execute(write, [k, mail, 0])
    under_hold.release(con, name)
    assert under_hold.rows(con, "SELECT k FROM t") == [(3,)]
    assert admin.execute("SELECT k FROM t").fetchall() == [(3,)]
    with pytest.raises(psycopg.Error, match="erased"):
        admin.execute(write, [1, "new@x.example", 0])
    assert {r.state.value for r in under_hold.run(con)} == {"COMPLETED"}
    assert admin.execute("SELECT k FROM t_journal").fetchall() == [(3,)]
