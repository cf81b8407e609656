"""kill -9 at each step: nothing is lost, a rerun ends clean, no file is left that nobody lists."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from journal.model.errors import Code, PalimpsestError
from journal.model.segment import Tier
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.contract import Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job
from tests.spark_compaction.killed_owner import SPARK_STEPS, STEPS
from tests.support.client import Client
from tests.support.tiers import in_tiers
from tests.support.warm_python import warm_python

NOW = RunOptions(grace_us=0)


def _journal(run: Client) -> Journal:
    found: Journal = run.connection.session.journal
    return found


def _fill(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    for start in range(0, 1000, 200):
        run(f"INSERT INTO t SELECT i, 'x' FROM range({start}, {start + 200}) r(i)")
        run("CALL system.flush('t')")
    run("UPDATE t SET v = 'y' WHERE k % 3 = 0")
    run("DELETE FROM t WHERE k % 50 = 1")


def _answers(run: Client) -> list[Any]:
    versions = [v for (v,) in run("SELECT version FROM system.transactions ORDER BY 1")][1:]
    found = [run("SELECT * FROM t ORDER BY k")]
    return found + [run(f"SELECT * FROM t FOR VERSION AS OF {v} ORDER BY k") for v in versions]


def _folders(run: Client) -> set[Path]:
    return {path for path in run.root.glob("*/*/*") if path.is_dir()}


def _is_clean(run: Client) -> bool:
    assert verify(_journal(run)).problems == []
    assert unlisted_files(_journal(run)) == []
    assert _folders(run) == {path.parent for path in run.files()}
    return True


def _compact(run: Client, engine: Any = None) -> str:
    job = CompactJob("major", rows_max=200, small_files_min=2)
    return run_job(_journal(run), job, 1, engine or LocalEngine(), options=NOW).state


@pytest.mark.long
@pytest.mark.parametrize("step", in_tiers([*STEPS, *SPARK_STEPS], {"in stage", "after swap"}))
def test_the_owner_is_killed(
    connect: Callable[..., Client], root: Path, step: str, request: pytest.FixtureRequest
) -> None:
    if step in SPARK_STEPS:
        request.getfixturevalue("spark")
    run = connect()
    _fill(run)
    before = _answers(run)
    run.close()
    command = [warm_python(), "-m", "tests.spark_compaction.killed_owner", str(run.root), step]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=250)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    run = connect()
    assert _answers(run) == before
    assert _is_clean(run)
    swapped = step in {"after swap", "in reap"}
    assert _compact(run) == ("nothing" if swapped else "done")
    assert _answers(run) == before
    manifest = _journal(run).state.tables[1].manifest
    assert {s.tier for s in manifest.segments} == {Tier.BASE, Tier.HISTORY}
    if step in SPARK_STEPS:
        # Executors that were at work when their owner died must not have written afterwards.
        time.sleep(3)
    assert _is_clean(run)


class _Killing(SparkEngine):
    """Kills the driver of another engine while its executors are at work."""

    def __init__(self, other: SparkEngine, folder: Path) -> None:
        self._other, self._folder = other, folder

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        pid = self._other.start()
        known = set(self._folder.glob("*/*/*/*"))

        def kill() -> None:
            while set(self._folder.glob("*/*/*/*")) <= known:
                time.sleep(0.001)
            os.kill(pid, signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        return self._other.map(function, units, progress)


@pytest.mark.slow
def test_the_driver_is_killed(run: Client, spark: SparkEngine) -> None:
    _fill(run)
    before = _answers(run)
    with pytest.raises(PalimpsestError) as raised:
        _compact(run, _Killing(spark, run.root))
    assert raised.value.code is Code.JOB_FAILED
    assert _answers(run) == before
    assert _is_clean(run)
    assert _compact(run, spark) == "done"
    # Python processes of the driver that was killed may have worked on meanwhile.
    assert _answers(run) == before
    assert _is_clean(run)


class _DyingExecutor(SparkEngine):
    """Has one executor killed after it has written its files, before it says so."""

    def __init__(self, other: SparkEngine, folder: Path) -> None:
        self._other, self._folder = other, folder

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        marker = str(self._folder / "died")
        marked = [{"function": function, "unit": u, "marker": marker} for u in units]
        return self._other.map("tests.support.spark:do_and_die_once", marked, progress)


@pytest.mark.slow
def test_an_executor_is_killed(run: Client, spark: SparkEngine, tmp_path: Path) -> None:
    _fill(run)
    before = _answers(run)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert _compact(run, _DyingExecutor(spark, scratch)) == "done"
    assert (scratch / "died").exists()
    assert _answers(run) == before
    assert _is_clean(run)
