"""The Spark session of a worker, and units of work on its executors. The only home of pyspark.

Executors get names and JSON, and import what they need from the installed package; their processes
are forked from ``daemon``.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from spark_compaction.contract import Json, Progress
from spark_compaction.engines.functions import load_function

_POLL_S = 0.2
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.log.level": "ERROR",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.python.daemon.module": "spark_compaction.engines.daemon",
    # What Spark spills nobody can read once the application is dead, wherever it lies.
    "spark.io.encryption.enabled": "true",
}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def open_session(master: str | None, conf: Mapping[str, str]) -> Any:
    """A Spark session; under spark-submit ``master`` is None and its own settings hold."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("palimpsest jobs")
    settings = dict(_DEFAULTS)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            scratch = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
            settings |= {
                **_LOCAL,
                "spark.local.dir": scratch,
                "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={scratch}"',
            }
    for name, value in {**settings, **conf}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def kill_jvm() -> bool:
    """End the JVM of this process at once: its executors' Python processes end with it.

    False when this process has not been told yet of a JVM that is its own.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    return gateway is not None


class SparkCluster:
    """A Spark session for one task; its Spark jobs form a group that can be cancelled."""

    def __init__(self, spark: Any, group: str) -> None:
        self.spark = spark
        self._group = group
        self._is_cancelled = threading.Event()

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit, one Spark task each; results in order."""
        if not units:
            return []
        context = self.spark.sparkContext
        calls = [(function, json.dumps(unit)) for unit in units]
        rows = context.parallelize(calls, len(calls)).map(_call)
        with _watched(context, self._group, function, len(calls), progress):
            results = rows.collect()
        return [json.loads(text) for text in results]

    @property
    def refused(self) -> type[Exception]:
        """What Spark raises for a statement that it cannot run."""
        from pyspark.errors import PySparkException

        found: type[Exception] = PySparkException
        return found

    def begin(self, step: str) -> None:
        """Have what this thread runs on Spark from now on belong to the task."""
        self.spark.sparkContext.setJobGroup(self._group, step, interruptOnCancel=True)
        if self._is_cancelled.is_set():
            raise InterruptedError("cancelled before it began")

    def cancel(self) -> None:
        """Stop this task's Spark jobs, from another thread; a task that begins later fails."""
        self._is_cancelled.set()
        self.spark.sparkContext.cancelJobGroup(self._group)


def _call(call: tuple[str, str]) -> str:
    """Run one unit on an executor."""
    name, unit = call
    function = load_function(name)
    # Spark has the garbage collected after every task. What is loaded now stays, and looking at
    # all of it again takes longer than a small unit does.
    gc.freeze()
    return json.dumps(function(json.loads(unit)))


@contextmanager
def _watched(context: Any, group: str, step: str, total: int, progress: Progress) -> Iterator[None]:
    """Tell how many of a group's Spark tasks are done, until the block ends."""
    tracker = context.statusTracker()
    earlier = set(tracker.getJobIdsForGroup(group))
    over = threading.Event()

    def watch() -> None:
        told = -1
        while not over.wait(_POLL_S):
            done = _done(tracker, set(tracker.getJobIdsForGroup(group)) - earlier)
            if done != told:
                told = done
                progress(step, done, total)

    thread = threading.Thread(target=watch, name="palimpsest-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    progress(step, total, total)


def _done(tracker: Any, jobs: set[int]) -> int:
    done = 0
    for job in jobs:
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            state = tracker.getStageInfo(stage)
            done += state.numCompletedTasks if state is not None else 0
    return done
