"""Several gateway processes on one store: nothing is lost, nothing is seen by halves."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.bank import check_books, check_sum, open_bank
from tests.support.stores.store import Capability, Store

PROCESSES, THREADS, TRANSFERS = 2, 2, 3


def _start(store: Store, name: str, transfers: int, log: Path) -> subprocess.Popen[bytes]:
    """Have a process move money; what it has to say goes to a file, as a pipe would stop it."""
    command = [sys.executable, "-m", "tests.support.transfer_child", store.url, name]
    with (log.parent / f"{name}.err").open("wb") as said:
        return subprocess.Popen([*command, str(THREADS), str(transfers), str(log)], stderr=said)


@pytest.mark.needs(Capability.PROCESSES)
@pytest.mark.also_on("hive")
@pytest.mark.timeout(1800)
def test_transfers_of_several_processes_of_which_one_is_killed(
    store: Store, tmp_path: Path
) -> None:
    con = store.connect()
    open_bank(con)
    log = tmp_path / "log"
    victim = _start(store, "victim", 10_000, log)
    others = [_start(store, f"p{i}", TRANSFERS, log) for i in range(PROCESSES)]
    deadline = time.monotonic() + 600
    while not log.exists() or "victim" not in log.read_text():
        check_sum(con)
        assert time.monotonic() < deadline
    victim.kill()
    victim.wait()
    while any(child.poll() is None for child in others):
        check_sum(con)
    said = [(tmp_path / f"p{i}.err").read_text() for i in range(PROCESSES)]
    assert said == [""] * PROCESSES
    assert [child.returncode for child in others] == [0] * PROCESSES
    assert check_books(con, log) >= PROCESSES * THREADS * TRANSFERS
