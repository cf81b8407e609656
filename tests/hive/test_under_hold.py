"""What a legal hold covers in a Hive store, while a request to erase it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import under_hold

pytestmark = pytest.mark.timeout(900)


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [False, True], ids=["written", "sealed"])
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


@pytest.mark.slow
def test_a_hold_that_is_placed_later_brings_back_what_it_covers(con: Connection) -> None:
    under_hold.check_placed_later(con)


@pytest.mark.slow
def test_nothing_survives_of_a_racing_writer(
    con: Connection, connect: Callable[..., Connection]
) -> None:
    under_hold.check_racing_writer(con, connect)


@pytest.mark.slow
def test_several_holds_and_requests_about_one_key(con: Connection) -> None:
    under_hold.check_many(con)


@pytest.mark.slow
def test_a_hold_on_the_whole_table(con: Connection) -> None:
    under_hold.check_whole_table(con)


@pytest.mark.slow
def test_a_release_that_is_killed_has_not_happened(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def killed() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(rows_of, "put_state", die)
            yield

    journal = con.session.journal
    assert isinstance(journal, HiveJournal)

    def clean() -> None:
        # A list of keys that nothing names keeps requests from COMPLETED until it is swept.
        with journal.store.connection() as connection:
            assert cleaning.remove_forsaken(journal, connection, 0)

    under_hold.check_killed(con, killed(), clean)


@pytest.mark.slow
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


@pytest.mark.slow
def test_access_has_what_is_held_and_tells_what_waits(con: Connection) -> None:
    under_hold.check_access(con)


@pytest.mark.slow
def test_jobs_obey_a_hold_on_rows_that_are_hidden(con: Connection) -> None:
    under_hold.check_hidden_before(con)
