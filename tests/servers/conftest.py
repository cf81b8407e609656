"""A server in a process of its own, on an embedded warehouse."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psycopg
import pytest
from psycopg import Connection

from tests.support.postgres import Cluster, running
from tests.support.warm_python import warm_python

_START_S = 60.0
_PROGRAM = """
import os

from gateway.cli import run

print(os.getpid(), flush=True)
run()
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: who started it, its own number, the folder of its socket, and its port.

    Signals reach the server through ``process``, but for those that no process can take.
    """

    process: subprocess.Popen[str]
    pid: int
    folder: Path
    port: int
    lines: tuple[str, ...] = ()
    """What else it has written: the URLs of other ports."""

    @property
    def dsn(self) -> str:
        """How drivers of libpq connect over TCP."""
        return f"host=127.0.0.1 port={self.port} user=me dbname=palimpsest"

    def end(self) -> str:
        """Tell it to end; what it has written to standard error."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[1]


def launch(
    folder: Path,
    *options: str,
    store: str | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Server:
    """Start a server on a new warehouse in a folder, or on a store, on a port of the system's."""
    # What a process is given as it begins, as another clock, no fork takes on.
    python = sys.executable if environment else warm_python()
    command = [python, "-c", _PROGRAM, "serve", store or str(folder / "w")]
    if store is not None:
        command += ["--socket-dir", str(folder)]
    process = subprocess.Popen(
        [*command, "--postgres", "127.0.0.1:0", "--trust-loopback", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    more = sum(option in {"--hive", "--hive-http"} for option in options)
    for line in process.stdout:
        found = re.fullmatch(r"postgresql://127\.0\.0\.1:(\d+)/palimpsest\n", line)
        if found:
            lines = tuple(process.stdout.readline().strip() for _ in range(more))
            return Server(process, pid, folder / "w", int(found[1]), lines)
    raise AssertionError(process.communicate(timeout=_START_S)[1])


def wait_for_statement(con: psycopg.Connection, session: int) -> None:
    """Wait until a session runs something."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        rows = con.execute("SELECT state FROM system.sessions WHERE id = %s", (session,)).fetchall()
        if rows == [("active",)]:
            return
        time.sleep(0.02)
    raise AssertionError("it never ran")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it as it is."""
    found = launch(tmp_path_factory.mktemp("server"))
    yield found
    found.end()


def _connected(where: str) -> Connection:
    return psycopg.connect(where, autocommit=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def postgres(cluster: Cluster) -> Iterator[Connection]:
    with _connected(cluster.conninfo("postgres")) as connection:
        connection.execute("SET TIME ZONE 'Europe/Berlin'")
        yield connection


@pytest.fixture(scope="module", params=["folder", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def gateway(
    store: str,
    request: pytest.FixtureRequest,
    server: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Connection]:
    """A connection to a server, whose store is a folder or a database."""
    with contextlib.ExitStack() as stack:
        if store == "postgres":
            server = stack.enter_context(
                _over(request.getfixturevalue("cluster"), tmp_path_factory)
            )
        connection = stack.enter_context(_connected(server.dsn))
        connection.execute("SET TIME ZONE 'Europe/Berlin'")
        yield connection


@contextlib.contextmanager
def _over(cluster: Cluster, folders: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose store is a database of the cluster."""
    found = launch(folders.mktemp("over"), store=cluster.url(cluster.database()))
    yield found
    found.end()
