"""What a legal hold covers in an embedded warehouse, while a request to erase it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from spark_compaction.erasure import purge
from spark_compaction.programs.retention import Retention
from tests.support import under_hold
from tests.support.client import Client


@pytest.mark.parametrize("sealed", [False, True], ids=["head", "sealed"])
@pytest.mark.parametrize("action", ["DELETE", "ARCHIVE"])
@pytest.mark.parametrize("waits", ["ACCEPTED", "ON_HOLD"])
def test_retention_removes_no_row_under_a_hold(
    run: Client, waits: str, action: str, sealed: bool
) -> None:
    under_hold.check_retention(run.connection, waits=waits, action=action, sealed=sealed)


def test_what_is_held_is_seen_and_changed(connect: Callable[..., Client], run: Client) -> None:
    under_hold.check_readable(run.connection, lambda: connect().connection)


def test_a_hold_that_is_placed_later_brings_back_what_it_covers(run: Client) -> None:
    under_hold.check_placed_later(run.connection)


def test_nothing_survives_of_a_racing_writer(connect: Callable[..., Client], run: Client) -> None:
    under_hold.check_racing_writer(run.connection, lambda: connect().connection)


def test_several_holds_and_requests_about_one_key(run: Client) -> None:
    under_hold.check_many(run.connection)


def test_a_hold_on_the_whole_table(run: Client) -> None:
    under_hold.check_whole_table(run.connection)


def test_a_release_that_is_killed_has_not_happened(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def killed() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(run.connection.session.journal, "swap_all", die)
            yield

    under_hold.check_killed(run.connection, killed())


def test_a_hold_that_is_placed_while_a_purge_runs(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite = purge.rewrite

    def meanwhile(do: Callable[[Connection], Any]) -> None:
        def slow(*given: Any) -> Any:
            done = rewrite(*given)
            do(run.connection)
            return done

        monkeypatch.setattr(purge, "rewrite", slow)

    under_hold.check_placed_while_purged(run.connection, meanwhile)


def test_a_hold_that_is_placed_while_a_retention_runs(
    connect: Callable[..., Client], run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify, other = Retention.verify, connect()

    def meanwhile(do: Callable[[Connection], Any]) -> None:
        def slow(*given: Any) -> Any:
            do(other.connection)
            return verify(*given)

        monkeypatch.setattr(Retention, "verify", slow)

    under_hold.check_placed_while_retained(run.connection, meanwhile)


def test_access_has_what_is_held_and_tells_what_waits(run: Client) -> None:
    under_hold.check_access(run.connection)


def test_a_warehouse_that_is_opened_again_knows_what_is_held(
    connect: Callable[..., Client], run: Client
) -> None:
    under_hold.make(run.connection, sealed=True)
    name = under_hold.hold(run.connection)
    under_hold.submit(run.connection)
    run.close()
    again = connect()
    assert again.sorted("SELECT k, n FROM t") == [(1, 11), (3, 3)]
    again("UPDATE t SET n = 12 WHERE k = 1")
    under_hold.release(again.connection, name)
    again.close()
    last = connect()
    assert last("SELECT k FROM t") == [(3,)]
    assert {r.state.value for r in under_hold.run(last.connection)} == {"COMPLETED"}
    assert not list(last.root.glob("_palimpsest/erasure/*"))


def test_jobs_obey_a_hold_on_rows_that_are_hidden(run: Client) -> None:
    under_hold.check_hidden_before(run.connection)
