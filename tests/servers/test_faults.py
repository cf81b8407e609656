"""What breaks while clients work: the network, the client, the server. What was said holds."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from tests.servers.conftest import Server, launch
from tests.support.relay import Relay

pytestmark = pytest.mark.slow
_LOAD_S = 3.0
_PATIENCE_S = 20.0


def _connected(server: Server) -> Any:
    return closing(psycopg.connect(server.dsn, autocommit=True))


def _waits_for(read: Callable[[], int], wanted: int) -> None:
    end = time.monotonic() + _PATIENCE_S
    while read() != wanted and time.monotonic() < end:
        time.sleep(0.2)
    assert read() == wanted


def _sessions(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM system.sessions").fetchone()
    assert row is not None
    return int(row[0])


def test_a_commit_whose_answer_is_lost_is_whole_and_its_client_is_told(tmp_path: Path) -> None:
    server = launch(tmp_path)
    relay = Relay(server.port)
    with closing(relay), _connected(server) as other:
        other.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        before = _sessions(other)
        relay.passes_word = relay.loses_answer = True
        client = psycopg.connect(f"host=127.0.0.1 port={relay.port} user=me dbname=w")
        client.execute("INSERT INTO t VALUES (1), (2)")
        relay.word = b"COMMIT"
        with pytest.raises(psycopg.OperationalError):
            client.commit()
        client.close()
        assert relay.has_cut.wait(_PATIENCE_S)
        _waits_for(lambda: _sessions(other), before)
        assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)
    server.end()


def test_our_own_client_says_that_a_lost_commit_may_have_happened(tmp_path: Path) -> None:
    server = launch(tmp_path)
    with closing(Relay(server.port)) as relay, _connected(server) as other:
        other.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        with closing(gateway.connect(f"palimpsest://me@127.0.0.1:{relay.port}/")) as client:
            client.execute("INSERT INTO t VALUES (1)")
            relay.passes_word = relay.loses_answer = True
            # Whatever is sent next is the commit, and its call has the word in it.
            relay.word = b"commit"
            with pytest.raises(gateway.OperationalError, match="PAL-525"):
                client.commit()
        _waits_for(lambda: _count(other), 1)
    server.end()


def _count(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM t").fetchone()
    assert row is not None
    return int(row[0])


def test_clients_that_go_in_the_middle_of_a_result_leave_nothing(tmp_path: Path) -> None:
    from pyhive import hive

    server = launch(tmp_path, "--hive", "127.0.0.1:0")
    port = int(server.lines[0].partition("127.0.0.1:")[2].partition("/")[0])
    with _connected(server) as other:
        other.execute(
            "CREATE TABLE t AS SELECT x AS id, repeat('x', 500) AS s FROM range(400000) r(x)"
        )
        before = _sessions(other)
        client = psycopg.connect(server.dsn, autocommit=True)
        rows = client.cursor().stream("SELECT * FROM t")
        assert next(rows)[0] is not None
        of_hive = hive.connect("127.0.0.1", port, "me")
        cursor = of_hive.cursor()
        cursor.execute("SELECT * FROM t")
        assert cursor.fetchone() is not None
        assert _sessions(other) == before + 2
        # Neither says goodbye: their sockets close beneath them.
        client.pgconn.finish()
        of_hive._transport.close()
        _waits_for(lambda: _sessions(other), before)
        other.execute("DROP TABLE t")
    server.end()


class _Writer(threading.Thread):
    """Inserts rows one by one until the server has gone; knows which were acknowledged."""

    def __init__(self, first: int, execute: Callable[[str], object]) -> None:
        super().__init__(daemon=True)
        self._next = first
        self._execute = execute
        self.tried: list[int] = []
        self.acknowledged: list[int] = []

    def run(self) -> None:
        while True:
            self.tried.append(self._next)
            try:
                self._execute(f"INSERT INTO t VALUES ({self._next}, {self._next})")
            except Exception:  # noqa: BLE001 - each driver has an error of its own for the end
                return
            self.acknowledged.append(self._next)
            self._next += 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # ADBC's statement.
def test_a_killed_server_keeps_what_all_its_front_ends_acknowledged(tmp_path: Path) -> None:
    from adbc_driver_flightsql import dbapi as flight
    from pyhive import hive

    server = launch(tmp_path, "--flight", "127.0.0.1:0", "--hive", "127.0.0.1:0")
    assert server.process.stdout is not None
    urls = [*server.lines, server.process.stdout.readline().strip()]
    by_flight = next(url for url in urls if url.startswith("grpc:"))
    port = int(urls[-1].partition("127.0.0.1:")[2].partition("/")[0])
    with _connected(server) as first:
        first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
    of_postgres = psycopg.connect(server.dsn, autocommit=True)
    of_hive = hive.connect("127.0.0.1", port, "me")
    clients = [of_postgres, of_hive, flight.connect(by_flight, autocommit=True)]
    cursors = [client.cursor() for client in clients]
    writers = [_Writer(n * 1_000_000, cursor.execute) for n, cursor in enumerate(cursors, 1)]
    for writer in writers:
        writer.start()
    time.sleep(_LOAD_S)
    server.process.kill()
    server.process.communicate()
    for writer in writers:
        writer.join(_PATIENCE_S)
        assert writer.acknowledged
        assert not writer.is_alive()
    of_postgres.close()
    of_hive._transport.close()
    again = launch(tmp_path)
    with _connected(again) as reader:
        found = {row for (row,) in reader.execute("SELECT id FROM t WHERE n = id").fetchall()}
        assert len(found) == _count(reader)
    acknowledged = {row for writer in writers for row in writer.acknowledged}
    tried = {row for writer in writers for row in writer.tried}
    assert acknowledged <= found <= tried
    again.end()


@pytest.mark.slow
def test_a_thousand_connections_that_are_dropped_leave_nothing(tmp_path: Path) -> None:
    """Each in one of the ways in which clients go: before, during and after the login."""
    server = launch(tmp_path, "--login-timeout", "2")
    with _connected(server) as other:
        other.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        before, sessions = _held(server), _sessions(other)
        for first in range(0, 1000, 100):
            waiting = [_opened(server, number) for number in range(first, first + 100)]
            assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)
            for close in waiting:
                close()
        _waits_for(lambda: _sessions(other), sessions)
        _waits_for(lambda: max(_held(server), before), before)
        assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)
        other.execute("INSERT INTO t VALUES (1)")
    server.end()


def _opened(server: Server, number: int) -> Callable[[], object]:
    """A connection that stands, and how it is dropped."""
    way = number % 4
    if way == 3:
        client = psycopg.connect(server.dsn)
        client.execute("INSERT INTO t VALUES (%s)", (number,))
        return partial(_drop, client)
    raw = socket.create_connection(("127.0.0.1", server.port))
    # Nothing at all, half a greeting, a question for TLS that is not followed up.
    raw.sendall((b"", b"\0\0\0\x30\0\3", b"\0\0\0\x08\x04\xd2\x16\x2f")[way])
    return raw.close


def _drop(client: psycopg.Connection) -> None:
    """Close a client's socket without a word."""
    client.pgconn.finish()
    client.close()


def _held(server: Server) -> int:
    """How many threads and open files the server has."""
    place = Path(f"/proc/{server.pid}")
    return len(list((place / "task").iterdir())) + len(list((place / "fd").iterdir()))
