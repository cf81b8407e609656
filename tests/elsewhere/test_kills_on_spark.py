"""Spark's driver and an executor are killed while a purge writes copies on S3 anew."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from journal.model.errors import Code
from journal.stores.embedded.journal import Journal
from spark_compaction.contract import Progress
from spark_compaction.engines.client import SparkEngine
from spark_compaction.erasure import purging
from tests.elsewhere.clean import TOKEN, is_clean
from tests.support.client import Client
from tests.support.erasures import backend_of
from tests.support.s3 import Server, objects

pytestmark = [pytest.mark.stores, pytest.mark.slow]


class _Dying(SparkEngine):
    """Has the driver killed at one of its tasks, or an executor at each, after it has written."""

    def __init__(self, other: SparkEngine, task: int | None, scratch: Path) -> None:
        self._other, self._task, self._scratch = other, task, scratch
        self._tasks = 0

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        self._tasks += 1
        if self._task is None:
            marker = str(self._scratch / f"died-{self._tasks}")
            units = [{"function": function, "unit": u, "marker": marker} for u in units]
            return self._other.map("tests.support.spark:do_and_die_once", units, progress)
        if self._tasks == self._task:
            pid = self._other.start()
            threading.Thread(target=self._kill, args=(pid,), daemon=True).start()
        return self._other.map(function, units, progress)

    def _kill(self, pid: int) -> None:
        """Kill the driver once it has the task: if it died before, another one would be started."""
        worker = self._other._process
        while worker is not None and not worker._waiting:
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)


def _journal(run: Client) -> Journal:
    found: Journal = run.connection.session.journal
    return found


def _is_gone(run: Client, server: Server, bucket: str) -> bool:
    client = server.client()
    for name in objects(server, bucket):
        assert TOKEN.encode() not in client.get_object(Bucket=bucket, Key=name)["Body"].read()
    return is_clean(run, server, bucket)


@pytest.mark.parametrize("task", [1, 2])
def test_the_driver_is_killed(
    people: Client,
    server: Server,
    bucket: str,
    spark: SparkEngine,
    task: int,
    tmp_path: Path,
) -> None:
    people(f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')")
    people("ERASE FROM people WHERE id = 1")
    found = purging.purge(backend_of(people), "tester", engine=_Dying(spark, task, tmp_path))
    assert {f.code for f in found.failures.values()} == {Code.JOB_FAILED}
    assert people.sorted("SELECT id FROM people") == [(2,), (3,)]
    assert purging.purge(backend_of(people), "tester", engine=spark).failures == {}
    assert _is_gone(people, server, bucket)


def test_executors_are_killed(
    people: Client,
    server: Server,
    bucket: str,
    spark: SparkEngine,
    tmp_path: Path,
) -> None:
    people(f"CALL system.backup('people', name => 'far', to => 's3://{bucket}')")
    people("ERASE FROM people WHERE id = 1")
    dying = _Dying(spark, None, tmp_path)
    assert purging.purge(backend_of(people), "tester", engine=dying).failures == {}
    assert len(list(tmp_path.glob("died-*"))) >= 2
    assert _is_gone(people, server, bucket)
