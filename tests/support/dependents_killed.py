"""A process that dies while an erasure takes dependents along, and what a rerun must make of it.

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

import gateway
from journal.erasure.requests import State
from tests.conftest import ROOT
from tests.support.client import Client
from tests.support.dependents import MAIL, TABLES, TOKEN, Stage, others
from tests.support.traces import holders
from tests.support.warm_python import warm_python

BACKUPS = (
    "CALL system.backup('visits', name => 'here')",
    "CALL system.backup('badges', name => 'there', to => 'file://{away}')",
    "DELETE FROM badges WHERE b = 20",
)
_PATIENCE_S = 30


def made(run: Client, away: Path) -> list[object]:
    """Backups of what refers to the people, here and elsewhere; what is told of others."""
    for sql in BACKUPS:
        run(sql.format(away=away))
    return others(run)


def die_at(place: Path | str, step: str, times: int) -> None:
    """Have a process accept a request and purge it, and die at a step of that."""
    done = subprocess.run(
        _command(warm_python(), place, step, times), capture_output=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def die_at_any_moment(place: Path | str, seed: int) -> None:
    """Have a process accept a request, and kill it while it purges."""
    command = _command(sys.executable, place, "none", 0)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    assert child.stdout.readline() == "accepted\n"
    time.sleep(random.Random(seed).uniform(0, 2))
    child.kill()
    child.wait()
    child.stdout.close()


def _command(python: str, place: Path | str, step: str, times: int) -> list[str]:
    words = [python, "-m", "tests.support.killed_eraser"]
    return [*words, str(place), step, str(times), MAIL, "CASCADE"]


def check_that_a_rerun_finishes(stage: Stage, away: Path, told: list[object]) -> None:
    """Whatever was done when the process died."""
    run = stage.run
    run("SET job_engine = 'local'")
    stage.check_clean()
    if not stage.requests():
        assert run("SELECT count(*) FROM people") == [(3,)]
        run(f"ERASE FROM people WHERE email = '{MAIL}' ON DEPENDENTS CASCADE REASON 'again'")
    assert others(run) == told
    everything = [run(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL") for table in TABLES]
    assert TOKEN not in str(everything)
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    assert run.error("INSERT INTO people VALUES (1, 'x', 'y')") == ("PAL-306", "23001")
    _purge(run)
    assert {r.state for r in stage.requests()} == {State.COMPLETED}
    assert others(run) == told
    assert stage.holders(TOKEN) == holders(away, TOKEN) == []
    for table, backup in (("visits", "here"), ("badges", "there")):
        run(f"CALL system.restore('{table}', backup => '{backup}')")
    assert stage.holders(TOKEN) == []
    stage.check_clean()


def _purge(run: Client) -> None:
    """A server may take a moment to see that a process is gone, and to give its turn to others."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            run("CALL system.purge()")
            return
        except gateway.Error as error:
            if error.code != "PAL-703" or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
