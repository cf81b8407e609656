"""Commits that wait for one another: they go together, and each stands for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.embedded.journal import Journal

URL = "palimpsest:///{}"
WITHIN_S = 30.0


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(URL.format(tmp_path / "w"), autocommit=True) as opened:
        opened.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER, u INTEGER UNIQUE)")
        opened.executemany("INSERT INTO t VALUES (?, 0, ?)", [(k, k) for k in range(8)])
        yield opened


class Waiting:
    """Transactions that have all asked to be committed while nobody is let in."""

    def __init__(self, connection: Connection, changes: list[list[str]]) -> None:
        journal = connection.session.journal
        assert isinstance(journal, Journal)
        self.journal = journal
        self.states: dict[int, str] = {}
        self.connections = [gateway.connect(URL.format(journal.place)) for _ in changes]
        for other, statements in zip(self.connections, changes, strict=True):
            for statement in statements:
                other.execute(statement)
        self.threads = [
            threading.Thread(target=self._commit, args=(number,)) for number in range(len(changes))
        ]

    def _commit(self, number: int) -> None:
        try:
            self.connections[number].commit()
            self.states[number] = "ok"
        except gateway.Error as error:
            self.states[number] = error.sqlstate

    def go(self) -> list[str]:
        """Let them in, one after another into the line; how each of them ended."""
        with self.journal.commit_lock:
            self.line_up()
        return self.end()

    def line_up(self) -> None:
        """Let each ask to be committed once the one before it waits; the caller has the lock."""
        deadline = time.monotonic() + WITHIN_S
        for number, thread in enumerate(self.threads):
            thread.start()
            while len(self.journal.commits._queue._waiting) <= number:
                assert time.monotonic() < deadline, "a transaction does not wait"
                time.sleep(0.001)

    def end(self) -> list[str]:
        """How each of them ended."""
        for thread in self.threads:
            thread.join(WITHIN_S)
        for other in self.connections:
            other.close()
        return [self.states[number] for number in range(len(self.threads))]


def test_one_of_a_group_is_refused_alone(connection: Connection) -> None:
    waiting = Waiting(
        connection,
        [
            ["UPDATE t SET v = 1 WHERE k = 0", "UPDATE t SET v = 1 WHERE k = 1"],
            ["UPDATE t SET v = 2 WHERE k = 2"],
            ["UPDATE t SET v = 3 WHERE k = 1"],
            ["INSERT INTO t VALUES (20, 4, 100)"],
            ["INSERT INTO t VALUES (21, 5, 100)"],
            ["DELETE FROM t WHERE k = 4"],
        ],
    )
    assert waiting.go() == ["ok", "ok", "40001", "ok", "40001", "ok"]
    rows = connection.execute("SELECT k, v FROM t WHERE v > 0 ORDER BY k").fetchall()
    assert rows == [(0, 1), (1, 1), (2, 2), (20, 4)]
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (8,)
    newest = "SELECT * FROM system.transactions ORDER BY version DESC LIMIT 4"
    versions = connection.execute(
        f"SELECT count(DISTINCT version), sum(statements), sum(rows_written) FROM ({newest})"
    )
    assert versions.fetchone() == (4, 5, 5)


def test_each_of_a_group_is_a_point_in_time(connection: Connection) -> None:
    changes = [[f"UPDATE t SET v = {n} WHERE k = {n}"] for n in range(1, 5)]
    assert Waiting(connection, changes).go() == ["ok"] * 4
    newest = "SELECT version FROM system.transactions ORDER BY version DESC LIMIT 4"
    sums = set()
    for (version,) in connection.execute(newest).fetchall():
        past = f"SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF {version} WHERE v > 0"
        sums.add(connection.execute(past).fetchall()[0][0])
    assert sums == {1, 2, 3, 4}


def test_a_cancelled_one_leaves_the_line(connection: Connection) -> None:
    waiting = Waiting(connection, [[f"UPDATE t SET v = 1 WHERE k = {n}"] for n in range(4)])
    with waiting.journal.commit_lock:
        waiting.line_up()
        for number in (0, 2):
            waiting.connections[number].cancel()
            waiting.threads[number].join(WITHIN_S)
            assert waiting.states[number] == "57014"
    assert waiting.end() == ["57014", "ok", "57014", "ok"]
    rows = connection.execute("SELECT k FROM t WHERE v = 1 ORDER BY k").fetchall()
    assert rows == [(1,), (3,)]
