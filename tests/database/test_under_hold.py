"""What a legal hold covers in a database, while a request to erase it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from journal.stores.postgres import section
from spark_compaction.backends.postgres import rewriting
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import under_hold

CLASSIC = ("_journal", "version_number", "subsequent_version_number")


@pytest.mark.parametrize("sealed", [False, True], ids=["head", "sealed"])
@pytest.mark.parametrize("action", ["DELETE", "ARCHIVE"])
@pytest.mark.parametrize("waits", ["ACCEPTED", "ON_HOLD"])
def test_retention_removes_no_row_under_a_hold(
    con: Connection, waits: str, action: str, sealed: bool
) -> None:
    under_hold.check_retention(con, waits=waits, action=action, sealed=sealed)


def test_what_is_held_is_seen_and_changed(
    con: Connection, connect: Callable[..., Connection]
) -> None:
    under_hold.check_readable(con, connect)


def test_a_hold_that_is_placed_later_brings_back_what_it_covers(con: Connection) -> None:
    under_hold.check_placed_later(con)


def test_nothing_survives_of_a_racing_writer(
    con: Connection, connect: Callable[..., Connection]
) -> None:
    under_hold.check_racing_writer(con, connect)


def test_several_holds_and_requests_about_one_key(con: Connection) -> None:
    under_hold.check_many(con)


def test_a_hold_on_the_whole_table(con: Connection) -> None:
    under_hold.check_whole_table(con)


def test_a_release_that_is_killed_has_not_happened(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def killed() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(section, "replace_states", die)
            yield

    under_hold.check_killed(con, killed())


def test_a_hold_that_is_placed_while_a_purge_runs(
    con: Connection, connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite, other = rewriting.rewrite, connect()

    def meanwhile(do: Callable[[Connection], Any]) -> None:
        def slow(*given: Any) -> Any:
            done = rewrite(*given)
            do(other)
            return done

        monkeypatch.setattr(rewriting, "rewrite", slow)

    under_hold.check_placed_while_purged(con, meanwhile)


def test_a_hold_that_is_placed_while_a_retention_runs(
    con: Connection, connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, other = RetentionInSql.stage, connect()

    def meanwhile(do: Callable[[Connection], Any]) -> None:
        def slow(*given: Any, **more: Any) -> Any:
            done = stage(*given, **more)
            do(other)
            return done

        monkeypatch.setattr(RetentionInSql, "stage", slow)

    under_hold.check_placed_while_retained(con, meanwhile)


def test_access_has_what_is_held_and_tells_what_waits(con: Connection) -> None:
    under_hold.check_access(con)


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


def test_jobs_obey_a_hold_on_rows_that_are_hidden(con: Connection) -> None:
    under_hold.check_hidden_before(con)
