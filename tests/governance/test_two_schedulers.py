"""Two scheduler programs on one folder: each instance runs once, also when the holder is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gateway
from gateway.errors import Error
from gateway.sharing.folder import owner_of
from tests.support.processes import day, make_tables, process, schedule

DAYS = 30
LIMIT_S = 180
PROGRAM = "from gateway.cli import main; main()"
COUNTS = "SELECT made_by, count(*) FROM delays GROUP BY made_by"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse with a process that has an instance for each day of a month."""
    root = tmp_path / "warehouse"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        make_tables(con)
        text = "INSERT INTO delays SELECT CAST($nominal AS DATE), 1, $instance"
        declared = process(sql=text, inputs=None, start="2013-01-01", end="2013-01-31")
        schedule(con, day(1), declared)
    return root


@contextmanager
def _schedulers(root: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    words = [sys.executable, "-c", PROGRAM, "scheduler", "-w", str(root), "--check", "1"]
    with (root.parent / "log").open("wb") as log:
        both = [subprocess.Popen(words, stdout=log, stderr=log) for _ in range(2)]
        try:
            yield both
        finally:
            for one in both:
                one.kill()
                one.wait()


def _done(root: Path) -> int:
    """How many instances have left a row, as a program beside the schedulers sees it."""
    try:
        with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
            return len(con.execute(COUNTS).fetchall())
    except Error:
        return 0  # Its owner has just been killed.


def _holder(root: Path, both: list[subprocess.Popen[bytes]]) -> int:
    """The scheduler that has the folder, once one has."""
    over = time.monotonic() + LIMIT_S
    while time.monotonic() < over:
        owner = owner_of(root)
        if owner is not None and owner.pid in {one.pid for one in both}:
            return owner.pid
        time.sleep(0.1)
    raise AssertionError((root.parent / "log").read_text())


def _wait_for(root: Path, number: int) -> None:
    over = time.monotonic() + LIMIT_S
    while _done(root) < number:
        assert time.monotonic() < over, (root.parent / "log").read_text()
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [False, True])
def test_p21_each_instance_runs_once(root: Path, *, kills: bool) -> None:
    with _schedulers(root) as both:
        _holder(root, both)  # From then on the test is a client of it.
        if kills:
            _wait_for(root, 2)
            os.kill(_holder(root, both), signal.SIGKILL)
        _wait_for(root, DAYS)
        alive = [one.poll() is None for one in both]
        assert sum(alive) == (1 if kills else 2), (root.parent / "log").read_text()
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        counts = con.execute(COUNTS).fetchall()
        assert {number for _, number in counts} == {1}
        ended = con.execute("SELECT state, count(*) FROM system.instances GROUP BY state")
        assert ended.fetchall() == [("SUCCEEDED", DAYS)]


@pytest.mark.slow
def test_a_server_runs_processes_too(root: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, "serve", str(root), "--socket-dir", str(tmp_path)]
    words += ["--postgres", "127.0.0.1:5433", "--scheduler", "2"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            _holder(root, [server])
            _wait_for(root, DAYS)
            server.terminate()
            assert server.wait(LIMIT_S) == 0, (tmp_path / "log").read_text()
        finally:
            server.kill()
            server.wait()
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        ended = con.execute("SELECT state, count(*) FROM system.instances GROUP BY state")
        assert ended.fetchall() == [("SUCCEEDED", DAYS)]
