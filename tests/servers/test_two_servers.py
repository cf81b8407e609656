"""Two servers on one PostgreSQL store: any of them takes a client, and any of them its cancel."""

from __future__ import annotations

import itertools
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import running
from tests.support.relay import Relay
from tests.support.repeatedly import repeatedly
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.stores
_SLOW = (
    "SELECT sum(a.x * b.x) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(x)"
)


class _Balancer(Relay):
    """A relay that gives each connection to the next server."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = itertools.cycle(ports)
        super().__init__(ports[0])

    @property
    def _target(self) -> int:
        return next(self._ports)

    @_target.setter
    def _target(self, port: int) -> None:
        """The ports are given already."""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def ports() -> Iterator[list[int]]:
    """The ports of two servers on one database."""
    found = [_free_port(), _free_port()]
    with running() as cluster, ExitStack() as ends:
        url = cluster.url(cluster.database())
        for node, port in enumerate(found):
            # Paths of sockets have to be short.
            folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
            ends.callback(shutil.rmtree, folder)
            command = [warm_python(), "-m", "gateway.cli", "serve", url, "--trust-loopback"]
            command += ["--postgres", f"127.0.0.1:{port}", "--socket-dir", str(folder)]
            command += ["--node", str(node), "--peer", f"{1 - node}=127.0.0.1:{found[1 - node]}"]
            process = ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            ends.callback(process.terminate)
            assert process.stdout is not None
            assert process.stdout.readline()
        yield found


def _connected(port: int) -> psycopg.Connection:
    return psycopg.connect(f"host=127.0.0.1 port={port} user=me dbname=w", autocommit=True)


def test_a_cancel_that_reaches_the_other_server_is_passed_on(ports: list[int]) -> None:
    with closing(_Balancer(ports)) as balancer:
        for _ in ports:  # A client of each, whose cancel goes to the other one.
            with _connected(balancer.port) as connection:
                # ``cancel`` would hold the lock of the interpreter, which the balancer needs.
                cancelled = repeatedly(connection.cancel_safe, 1.0)
                began = time.monotonic()
                with pytest.raises(psycopg.errors.QueryCanceled), cancelled:
                    connection.execute(_SLOW)
                assert time.monotonic() - began < 20
                with _connected(balancer.port):
                    """The next client's server is the other one."""


def test_a_wrong_key_cancels_nothing(ports: list[int]) -> None:
    with _connected(ports[0]) as connection:
        pid = connection.pgconn.backend_pid
        for port in ports:
            with socket.create_connection(("127.0.0.1", port)) as other:
                body = (80_877_102).to_bytes(4, "big") + pid.to_bytes(4, "big") + b"\0\0\0\0"
                other.sendall((len(body) + 4).to_bytes(4, "big") + body)
                assert other.recv(1) == b""
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_clients_of_both_see_and_respect_what_the_others_do(ports: list[int]) -> None:
    with _connected(ports[0]) as a, _connected(ports[1]) as b:
        a.execute("CREATE TABLE counts (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
        a.execute("INSERT INTO counts VALUES (1, 0)")

        def add(connection: psycopg.Connection) -> None:
            done = 0
            while done < 20:
                try:
                    connection.execute("UPDATE counts SET n = n + 1 WHERE id = 1")
                except psycopg.errors.SerializationFailure:
                    continue
                done += 1

        adding = [threading.Thread(target=add, args=(connection,)) for connection in (a, b)]
        for thread in adding:
            thread.start()
        for thread in adding:
            thread.join()
        for connection in (a, b):
            assert connection.execute("SELECT n FROM counts").fetchone() == (40,)
        a.execute("BEGIN")
        a.execute("UPDATE counts SET n = 0 WHERE id = 1")
        b.execute("UPDATE counts SET n = 7 WHERE id = 1")
        with pytest.raises(psycopg.errors.SerializationFailure):
            a.execute("COMMIT")
        a.execute("ROLLBACK")
        assert a.execute("SELECT n FROM counts").fetchone() == (7,)
