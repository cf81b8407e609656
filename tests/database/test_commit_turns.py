"""Whose turn it is keeps other gateways from committing, up to its own commit and no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from journal.transactions.group_commit import UNWATCHED

_LOCKS = "FROM pg_locks WHERE locktype = 'advisory' AND granted"


def test_others_wait_for_the_commit_of_a_turn(
    con: Connection, connect: Callable[..., Connection], admin: Any
) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    other = connect(application="other")
    done = threading.Event()

    def write() -> None:
        other.execute("INSERT INTO t VALUES (2)")
        done.set()

    with con.session.journal.commit_turn(UNWATCHED):
        thread = threading.Thread(target=write)
        thread.start()
        assert not done.wait(0.5)
        con.execute("INSERT INTO t VALUES (1)")
        assert done.wait(30)
        thread.join()
        con.execute("UPDATE t SET k = k + 10 WHERE k < 2")
    assert con.execute("SELECT k FROM t ORDER BY k").fetchall() == [(2,), (11,)]
    assert admin.execute(f"SELECT count(*) {_LOCKS}").fetchone() == (0,)


def test_an_explicit_transaction_waits_at_its_commit_alone(
    con: Connection, connect: Callable[..., Connection]
) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    other = connect()
    with con.session.journal.commit_turn(UNWATCHED):
        other.execute("BEGIN")
        other.execute("INSERT INTO t VALUES (1)")
        assert other.execute("SELECT k FROM t").fetchall() == [(1,)]
    other.execute("COMMIT")
    assert con.execute("SELECT k FROM t").fetchall() == [(1,)]


def test_whose_turn_is_cut_off_commits_like_everybody_else(con: Connection, admin: Any) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    with con.session.journal.commit_turn(UNWATCHED):
        assert admin.execute(f"SELECT pg_terminate_backend(pid) {_LOCKS}").fetchall() == [(True,)]
        con.execute("INSERT INTO t VALUES (1)")
    assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_a_turn_that_fails_leaves_no_lock(con: Connection, admin: Any) -> None:
    try:
        with con.session.journal.commit_turn(UNWATCHED):
            con.execute("SELECT nonsense")
    except gateway.Error:
        pass
    assert admin.execute(f"SELECT count(*) {_LOCKS}").fetchone() == (0,)
