"""Several gateway processes on one database: nothing is lost, nothing is seen by halves.

Processes move money between accounts while one of them is killed and the server is restarted.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.bank import check_books, check_sum, open_bank
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores

PROCESSES = 4
THREADS = 4


def start_child(
    url: str, name: str, transfers: int, log: Path, root: Path
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.support.transfer_child", url, name]
    command += [str(THREADS), str(transfers), str(log)]
    return subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE)


def _watch(con: Connection, until: Callable[[], bool]) -> int:
    sums = 0
    while not until():
        try:
            check_sum(con)
        except gateway.OperationalError:
            continue
        sums += 1
        time.sleep(0.02)
    return sums


@pytest.mark.timeout(300)
def test_a_killed_gateway_and_a_restarted_server_lose_nothing(
    con: Connection, url: str, tmp_path: Path, root: Path, cluster: Cluster
) -> None:
    cluster.require_control()
    open_bank(con)
    log = tmp_path / "log"
    transfers = 4
    victim = start_child(url, "victim", 10_000, log, root)
    survivors = [start_child(url, f"s{i}", transfers, log, root) for i in range(PROCESSES - 1)]
    _wait_for_commits(con, 10)
    victim.kill()
    victim.communicate()
    cluster.stop(how="immediate")
    cluster.launch()
    said = [survivor.communicate()[1] for survivor in survivors]
    assert [survivor.returncode for survivor in survivors] == [0] * len(survivors)
    assert said == [b""] * len(survivors)
    assert check_books(con, log) >= len(survivors) * THREADS * transfers


def _wait_for_commits(con: Connection, count: int) -> None:
    deadline = time.monotonic() + 60
    while con.execute("SELECT count(*) FROM bank.ledger").fetchall()[0][0] < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
