"""kill -9 at each step of an erasure that takes dependents along: a rerun ends it for all tables.

Parent and children are purged one after the other, so a process may die when some are purged and
others are not. At no time is anything of them seen, and nobody else's row changes.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateway.erasers import eraser_of
from gateway.procedures import embedded
from journal.embedded.recovery import unlisted_files
from journal.embedded.verification import verify
from journal.erasure import audit
from journal.erasure.requests import State
from journal.erasure.wanted import requests
from tests.conftest import ROOT
from tests.support.client import Client
from tests.support.dependents import MAIL, SETUP, TABLES, TOKEN, others
from tests.support.killed_eraser import BY_TABLE, ONCE
from tests.support.traces import holders

BACKUPS = (
    "CALL system.backup('visits', name => 'here')",
    "CALL system.backup('badges', name => 'there', to => 'file://{away}')",
    "DELETE FROM badges WHERE b = 20",
)
# Between two tables, and at the end of all: the rest takes its time.
FAST = {("swapped", 1), ("retired", 4), ("unmask", 1), ("closing", 1)}
STEPS = [(step, 1) for step in ONCE] + [(step, n) for step in BY_TABLE for n in (1, 2, 3, 4)]


def _made(root: Path, away: Path) -> list[object]:
    """The people, what refers to them, and backups here and elsewhere; what is told of others."""
    run = Client(root)
    for sql in (*SETUP, *BACKUPS):
        run(sql.format(away=away))
    told = others(run)
    run.close()
    return told


def _command(root: Path, step: str, times: int) -> list[str]:
    words = [sys.executable, "-m", "tests.support.killed_eraser"]
    return [*words, str(root), step, str(times), MAIL, "CASCADE"]


def _is_finished_by_a_rerun(root: Path, away: Path, told: list[object]) -> bool:
    run = Client(root)
    run("SET job_engine = 'local'")
    eraser = eraser_of(run.connection.session)
    journal = embedded(run.connection.session, "the test")
    assert verify(journal).is_clean
    assert unlisted_files(journal) == []
    if not requests(journal):
        assert run("SELECT count(*) FROM people") == [(3,)]
        run(f"ERASE FROM people WHERE email = '{MAIL}' ON DEPENDENTS CASCADE REASON 'again'")
    assert others(run) == told
    everything = [run(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL") for table in TABLES]
    assert TOKEN not in str(everything)
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    assert run.error("INSERT INTO people VALUES (1, 'x', 'y')") == ("PAL-306", "23001")
    run("CALL system.purge()")
    assert {r.state for r in requests(eraser.journal)} == {State.COMPLETED}
    assert others(run) == told
    assert holders(root, TOKEN) == holders(away, TOKEN) == []
    assert unlisted_files(journal) == []
    assert audit.verify(eraser.journal).problems == ()
    for table, backup in (("visits", "here"), ("badges", "there")):
        run(f"CALL system.restore('{table}', backup => '{backup}')")
    assert holders(root, TOKEN) == []
    assert verify(journal).is_clean
    run.close()
    return True


@pytest.mark.parametrize(
    ("step", "times"),
    [pytest.param(*s, marks=() if s in FAST else pytest.mark.slow) for s in STEPS],
)
def test_killed_at_any_step(tmp_path: Path, step: str, times: int) -> None:
    root, away = tmp_path / "warehouse", tmp_path / "away"
    told = _made(root, away)
    command = _command(root, step, times)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert _is_finished_by_a_rerun(root, away, told)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(12))
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    root, away = tmp_path / "warehouse", tmp_path / "away"
    told = _made(root, away)
    child = subprocess.Popen(_command(root, "none", 0), stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    assert child.stdout.readline() == "accepted\n"
    time.sleep(random.Random(seed).uniform(0, 2))
    child.kill()
    child.wait()
    child.stdout.close()
    assert _is_finished_by_a_rerun(root, away, told)
