"""Two gateway processes on one Hive store: nothing is lost, nothing is seen by halves.

Processes move money between accounts while one of them is killed and the server is restarted.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from tests.support import apache_hive
from tests.support.bank import check_books, check_sum, open_bank
from tests.support.thrift_server import ThriftServer, own

pytestmark = pytest.mark.stores

PROCESSES = 2
THREADS = 2


@pytest.fixture(params=["spark", "apache"])
def server(request: pytest.FixtureRequest) -> Iterator[ThriftServer]:
    """A server of the test's own, since it is restarted."""
    with own() if request.param == "spark" else apache_hive.own() as found:
        yield found


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    """Small tables are read in the gateway, so that the time goes into commits."""
    return server.url("p_", tmp_path / "catalog.db", views="off", held_rows="10000", lease="3")


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True) as found:
        yield found


def _start(url: str, name: str, transfers: int, log: Path, root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.support.transfer_child", url, name]
    command += [str(THREADS), str(transfers), str(log)]
    # A file takes whatever a child has to say; a pipe that nobody reads would stop it.
    with (log.parent / f"{name}.err").open("wb") as said:
        return subprocess.Popen(command, cwd=root, stderr=said)


def _lines(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


@pytest.mark.timeout(1800)
def test_transfers_while_a_gateway_is_killed_and_the_server_restarted(
    con: Connection, url: str, tmp_path: Path, root: Path, server: ThriftServer
) -> None:
    open_bank(con)
    log = tmp_path / "log"
    victim = _start(url, "victim", 10_000, log, root)
    others = [_start(url, f"p{i}", 2, log, root) for i in range(PROCESSES)]
    deadline = time.monotonic() + 300
    # Everybody is at work before anything is taken away.
    names = {"victim", *(f"p{i}" for i in range(PROCESSES))}
    while {line.partition(".")[0] for line in _lines(log)} != names:
        check_sum(con)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    victim.kill()
    victim.wait()
    server.stop()
    server.launch()
    assert isinstance(con.session.journal, HiveJournal)
    con.session.journal.store.forget_idle()
    while any(child.poll() is None for child in others):
        check_sum(con)
        time.sleep(0.5)
    said = [(log.parent / f"p{i}.err").read_text() for i in range(PROCESSES)]
    assert said == [""] * PROCESSES
    assert [child.returncode for child in others] == [0] * PROCESSES
    check_books(con, log)
