"""The worker: warm, cancellable, and gone with its owner or when it is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from journal.model.errors import Code, PalimpsestError
from spark_compaction.contract import silent
from spark_compaction.engines.client import SparkEngine, SparkOptions

TRIPLE = "tests.support.spark:triple"
SLEEP = "tests.support.spark:sleep"


def test_units_run_on_executors_in_order(spark: SparkEngine) -> None:
    told: list[tuple[str, int, int]] = []
    found = spark.map(TRIPLE, [3, 1, 2], lambda *step: told.append(step))
    assert found == [9, 3, 6]
    assert told[-1] == (TRIPLE, 3, 3)


def test_the_worker_stays_warm(spark: SparkEngine) -> None:
    first = spark.start()
    spark.map(TRIPLE, [1], silent)
    assert spark.start() == first


def test_a_function_may_use_the_session(spark: SparkEngine) -> None:
    assert spark.run("tests.support.spark:count_rows", {"rows": 41}, silent) == 41


def test_a_failing_unit_is_named_and_the_worker_goes_on(spark: SparkEngine) -> None:
    with pytest.raises(PalimpsestError, match="-1 is negative") as raised:
        spark.map(TRIPLE, [1, -1], silent)
    assert raised.value.code is Code.JOB_FAILED
    assert spark.map(TRIPLE, [1], silent) == [3]


def test_an_unknown_function_is_refused(spark: SparkEngine) -> None:
    with pytest.raises(PalimpsestError, match="cannot be loaded"):
        spark.map("spark_compaction.nowhere:run", [1], silent)


def _stop_after(seconds: float) -> Callable[[str, int, int], None]:
    """Progress that stops its task, for good, after some seconds."""
    limit = time.monotonic() + seconds

    def progress(_step: str, _done: int, _total: int) -> None:
        if time.monotonic() >= limit:
            raise PalimpsestError(Code.CANCELLED, "enough", advice="none")

    return progress


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_progress_that_raises_stops_its_task_and_no_other(
    spark: SparkEngine, seconds: float
) -> None:
    pid, began = spark.start(), time.monotonic()
    with ThreadPoolExecutor() as pool:
        other = pool.submit(spark.map, SLEEP, [3.0], silent)
        with pytest.raises(PalimpsestError, match="enough"):
            spark.map(SLEEP, [60.0], _stop_after(seconds))
        assert time.monotonic() - began < 30
        assert other.result() == [3.0]
    assert spark.start() == pid


@pytest.mark.long
def test_a_killed_worker_fails_its_tasks_and_is_started_anew(spark: SparkEngine) -> None:
    pid = spark.start()
    threading.Timer(1.0, os.kill, [pid, signal.SIGKILL]).start()
    with pytest.raises(PalimpsestError, match="ended") as raised:
        spark.map(SLEEP, [60.0], silent)
    assert raised.value.code is Code.JOB_FAILED
    assert spark.map(TRIPLE, [5], silent) == [15]
    assert spark.start() != pid


_OWNER = """
import sys, time
from spark_compaction.engines.client import SparkEngine, SparkOptions
engine = SparkEngine(SparkOptions(master="local[1]"))
print(engine.start(), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_worker_ends_with_its_owner(root: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER], cwd=root, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    worker = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    limit = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_worker_ends_with_its_owner_while_spark_still_starts(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as owner:
        to = f"127.0.0.1:{owner.getsockname()[1]}"
        worker = subprocess.Popen(
            [sys.executable, "-m", "spark_compaction.engines.worker", "--connect", to],
            env={**os.environ, "JAVA_HOME": str(tmp_path)},
            start_new_session=True,
        )
        connection, _ = owner.accept()
        try:
            limit = time.monotonic() + 60
            while not _group(worker.pid, "sleep"):
                assert time.monotonic() < limit, "Spark's start was not reached"
                time.sleep(0.1)
        finally:
            connection.close()
        worker.wait(timeout=20)
        while _group(worker.pid, "sleep"):
            assert time.monotonic() < limit, "what was to be the JVM is still there"
            time.sleep(0.1)


def _group(number: int, program: str) -> list[int]:
    """The processes of a group that run a program, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            state, _, group = rest.split()[:3]
            if (name, int(group)) == (program, number) and state != "Z":
                found.append(int(stat.parent.name))
    return found


def test_a_worker_that_cannot_start_says_why() -> None:
    engine = SparkEngine(SparkOptions(submit=("/nowhere/spark-submit",)))
    with pytest.raises(PalimpsestError) as raised:
        engine.map(TRIPLE, [1], silent)
    assert raised.value.code is Code.JOB_ENGINE


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_worker_by_spark_submit() -> None:
    submit = str(Path(sys.executable).with_name("spark-submit"))
    engine = SparkEngine(SparkOptions(master="local[1]", submit=(submit,)))
    try:
        assert engine.map(TRIPLE, [1, 2], silent) == [3, 6]
        assert engine.run("tests.support.spark:count_rows", {"rows": 3}, silent) == 3
    finally:
        engine.close()


@pytest.mark.slow
def test_what_spark_spills_cannot_be_read_and_goes_with_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkEngine
) -> None:
    assert spark is not None, "skipped where Spark cannot run"
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    settings = {"spark.driver.memory": "512m", "spark.shuffle.compress": "false"}
    engine = SparkEngine(SparkOptions(master="local[1]", conf=settings))
    assert engine.run("tests.support.spark:shuffle", {"rows": 10_000}, silent) == 10_000
    spilled = list(tmp_path.rglob("shuffle_*.data"))
    assert sum(p.stat().st_size for p in spilled) > 100_000
    assert not any(b"person-" in p.read_bytes() for p in spilled)
    os.kill(engine.start(), signal.SIGKILL)
    engine.close()
    assert list(tmp_path.iterdir()) == []
