"""kill -9 of a retention and of a restore at each of their steps: all of it happened, or nothing.

The next opening finds no file that nothing lists, the run's row says it was interrupted, and
running the job again ends as if nothing had been.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from gateway.jobs.runs import Request, run_all
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from tests.support.client import Client
from tests.support.killed_job import NOW
from tests.support.warm_python import warm_python

ROWS, KEPT = 90, 31
STEPS = ("plan", "stage", "verify", "reap")


def made(root: Path) -> Client:
    """Ninety days of rows up to NOW, some changed, of which thirty-one are kept."""
    run = Client(root)
    run("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    run("INSERT INTO t SELECT i, DATE '2024-01-03' + i::INT, 0 FROM range(90) r(i)")
    run("CALL system.flush()")
    run("UPDATE t SET n = 1 WHERE id % 2 = 0")
    run("CALL system.flush()")
    run("ALTER TABLE t SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    return run


def killed(root: Path, kind: str, step: str) -> None:
    words = [warm_python(), "-m", "tests.support.killed_job", str(root), kind, step]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


def again(run: Client, kind: str) -> str:
    session = run.connection.session
    (done,) = run_all(session, Request(kind, now=NOW), list(session.journal.state.catalog.tables()))
    assert done.error is None, done.error
    return done.state


def is_whole(run: Client) -> bool:
    journal = run.connection.session.journal
    return verify(journal).problems == [] and unlisted_files(journal) == []


SLOW = pytest.mark.slow
RETENTION = ["check", "swap", *(pytest.param(s, marks=SLOW) for s in STEPS)]
RESTORE = ["commit", *(pytest.param(s, marks=SLOW) for s in ("begin", "before commit"))]


@pytest.mark.first(1)
@pytest.mark.parametrize("step", RETENTION)
def test_retention(tmp_path: Path, step: str) -> None:
    root = tmp_path / "warehouse"
    made(root).close()
    killed(root, "retain", step)
    run = Client(root)
    assert is_whole(run)
    over = step in {"swap", "reap"}
    assert run("SELECT count(*) FROM t") == [(KEPT if over else ROWS,)]
    assert run("SELECT state FROM system.jobs") == [("INTERRUPTED",)]
    assert again(run, "retain") == ("NOTHING" if over else "SUCCEEDED")
    assert run("SELECT count(*), sum(n) FROM t") == [(KEPT, 15)]
    assert is_whole(run)
    assert again(run, "restore") == "SUCCEEDED"
    assert run("SELECT count(*), sum(n) FROM t") == [(ROWS, 45)]
    assert is_whole(run)
    run.close()


@pytest.mark.long
@pytest.mark.parametrize("step", RESTORE)
def test_restore(tmp_path: Path, step: str) -> None:
    root = tmp_path / "warehouse"
    run = made(root)
    assert again(run, "retain") == "SUCCEEDED"
    run("UPDATE t SET n = 7 WHERE id = 89")
    run.close()
    killed(root, "restore", step)
    run = Client(root)
    assert is_whole(run)
    over = step == "commit"
    assert run("SELECT count(*) FROM t") == [(ROWS if over else KEPT,)]
    assert run("SELECT count(*) FROM system.backups WHERE name LIKE 'trash-%'") == [(1,)]
    assert again(run, "restore") == ("NOTHING" if over else "SUCCEEDED")
    assert run("SELECT count(*), sum(n) FROM t") == [(ROWS, 45)]
    assert is_whole(run)
    run.close()
