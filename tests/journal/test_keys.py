"""Keys between transactions: the first committer wins, and nobody else's rows are doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import gateway
from tests.support.client import Client


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("INSERT INTO t VALUES (9, 'm')", "INSERT INTO t VALUES (9, 't')"),
        ("INSERT INTO t VALUES (8, 'same')", "INSERT INTO t VALUES (9, 'same')"),
        ("UPDATE t SET k = 9 WHERE k = 1", "INSERT INTO t VALUES (9, 't')"),
        ("UPDATE t SET u = 'same' WHERE k = 1", "UPDATE t SET u = 'same' WHERE k = 2"),
        ("UPDATE t SET u = 'x' WHERE k = 1", "DELETE FROM t WHERE k = 1"),
        ("DELETE FROM t WHERE k = 1", "UPDATE t SET u = 'x' WHERE k = 1"),
        ("DELETE FROM t", "UPDATE t SET u = 'x' WHERE k = 2"),
    ],
)
@pytest.mark.parametrize("flush", [False, True])
def test_the_second_committer_is_refused(
    connect: Callable[..., Client], mine: str, theirs: str, flush: bool
) -> None:
    run, other = connect(), connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, u VARCHAR UNIQUE)")
    run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    run("BEGIN")
    run(mine)
    other(theirs)
    after = other.sorted("SELECT * FROM t")
    if flush:
        other("CALL system.flush('t')")
    assert run.error("COMMIT") == ("PAL-401", "40001")
    assert run.sorted("SELECT * FROM t") == after


def test_different_keys_do_not_conflict(connect: Callable[..., Client]) -> None:
    run, other = connect(), connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, u VARCHAR UNIQUE)")
    run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    run("BEGIN")
    run("UPDATE t SET u = 'c' WHERE k = 1")
    other("UPDATE t SET u = 'a2' WHERE k = 2")
    run("COMMIT")
    assert run.sorted("SELECT * FROM t") == [(1, "c"), (2, "a2")]


def test_a_key_lives_twice_and_history_shows_both_lives(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t VALUES (1, 'first')")
    run("CALL system.flush('t')")
    run("DELETE FROM t WHERE k = 1")
    assert run("SELECT * FROM t") == []
    run("CALL system.flush('t')")
    run("INSERT INTO t VALUES (1, 'second')")
    assert run("SELECT * FROM t") == [(1, "second")]
    kinds = run(
        "SELECT v, CASE WHEN subsequent_version_number IS NULL THEN 'open'"
        " WHEN subsequent_version_number = version_number THEN 'tombstone' ELSE 'closing' END"
        " FROM t_journal"
    )
    assert sorted(kinds) == [
        ("first", "closing"),
        ("first", "open"),
        ("first", "tombstone"),
        ("second", "open"),
    ]


def test_one_of_many_concurrent_inserts_of_a_key_wins(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, who INTEGER)")
    clients = [connect() for _ in range(6)]
    won: list[tuple[int, int]] = []
    refused: list[str] = []
    barrier = threading.Barrier(len(clients))

    def insert(number: int, client: Client) -> None:
        for key in range(20):
            barrier.wait(30)
            try:
                client("INSERT INTO t VALUES (?, ?)", key, number)
            except gateway.IntegrityError as error:
                refused.append(error.sqlstate)
            else:
                won.append((key, number))

    threads = [threading.Thread(target=insert, args=pair) for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(won) == sorted(run("SELECT * FROM t"))
    assert len(won) == 20
    assert set(refused) == {"23505"}


def test_a_key_is_moved_again_and_again_by_one_text(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    run("INSERT INTO t VALUES (1, 1), (2, 2)")
    moved = "UPDATE t SET k = k + ? WHERE k = ?"
    assert [run(moved, 100, key) for key in (1, 2, 101, 5)] == [1, 1, 1, 0]
    assert run("SELECT k, v FROM t ORDER BY v") == [(201, 1), (102, 2)]
