"""Clients come and go, and the owner keeps no thread, socket or file of those that left."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.sharing.programs import Program
from tests.support.urls import url_of_folder

SECONDS = float(os.environ.get("PALIMPSEST_CLIENTS_S", "60"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 300)]
CLIENTS = 50
_VISITS = """
import random, threading, time
import gateway

def visit(visitor):
    for _ in range(random.randint(0, 5)):
        n = random.randint(1, 1000)
        match random.randint(0, 4):
            case 0: visitor.execute("SELECT * FROM range(100000)").fetchmany(3)
            case 1: visitor.execute("INSERT OR REPLACE INTO t VALUES (?, 'n')", (n,))
            case 2: visitor.execute("SELECT b FROM t WHERE a = ?", (n,)).fetchall()
            case 3: visitor.execute("CREATE OR REPLACE TEMP TABLE own AS SELECT 1 AS a")
            case 4: visitor.rollback()

def visits():
    ends = time.monotonic() + {seconds}
    while time.monotonic() < ends:
        try:
            with gateway.connect({url!r}, autocommit=random.random() < 0.5) as visitor:
                visit(visitor)
            done.append(1)
        except gateway.Error as error:
            if error.sqlstate != "40001":
                wrong.append(str(error))

done, wrong = [], []
threads = [threading.Thread(target=visits) for _ in range({visitors})]
[t.start() for t in threads]
[t.join() for t in threads]
found["value"] = wrong[:3] or len(done)
"""


def _held() -> tuple[int, int]:
    """Threads and open files of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def _settled() -> tuple[int, int]:
    """What is held once those that left are forgotten."""
    found = _held()
    for _ in range(100):
        time.sleep(0.1)
        before, found = found, _held()
        if before == found and found[0] < CLIENTS:
            break
    return found


def test_the_owner_keeps_nothing_of_clients_that_left(root: Path, owner: Connection) -> None:
    url = url_of_folder(root)
    programs = [Program(root) for _ in range(5)]
    visitors = CLIENTS // len(programs)
    try:
        for program in programs:
            program.ask("python", _VISITS.format(url=url, seconds=2, visitors=1))
        before = _settled()
        for program in programs:
            program.tell("python", _VISITS.format(url=url, seconds=SECONDS, visitors=visitors))
        answers = [program.answer() for program in programs]
        assert all(isinstance(a, int) and a > 0 for a in answers), answers
        after = _settled()
    finally:
        for program in programs:
            program.__exit__()
    assert after[0] <= before[0] + 1
    assert after[1] <= before[1] + 2
    assert owner.execute("SELECT 1").fetchall() == [(1,)]
    with gateway.connect(url) as again:
        assert again.execute("SELECT count(*) >= 2 FROM t").fetchone() == (True,)
