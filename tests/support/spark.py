"""One warm Spark worker for all tests of a process; they are skipped where Spark cannot run."""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from journal.model.errors import PalimpsestError
from spark_compaction.engines.client import SparkEngine, SparkOptions, check_java
from spark_compaction.engines.functions import load_function

CONF = {
    "spark.driver.memory": "1g",
    # Java's second compiler works for what runs for minutes.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def why_no_spark() -> str | None:
    """Why Spark cannot run here; None where it can."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'palimpsest-gateway[spark]'"
    try:
        check_java()
    except PalimpsestError as error:
        return error.message
    return None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """An engine whose worker starts with the first job and stays warm."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    engine = SparkEngine(SparkOptions(master="local[2,3]", conf=CONF))
    yield engine
    engine.close()


def triple(unit: int) -> int:
    """A unit of work for tests."""
    if unit < 0:
        raise ValueError(f"{unit} is negative")
    return unit * 3


def do_and_die_once(work: dict[str, Any]) -> Any:
    """Any unit whose executor is killed after it has done it, the first time."""
    found = load_function(work["function"])(work["unit"])
    marker = Path(work["marker"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return found


def sleep(unit: float) -> float:
    """A unit of work that takes its time."""
    time.sleep(unit)
    return unit


def count_rows(cluster: object, task: dict[str, int], progress: object) -> int:
    """A function that runs beside the session."""
    return int(cluster.spark.range(task["rows"]).count())  # type: ignore[attr-defined]


def shuffle(cluster: object, task: dict[str, int], progress: object) -> int:
    """Rows that go through files of Spark's own."""
    rows = cluster.spark.range(task["rows"])  # type: ignore[attr-defined]
    named = rows.selectExpr("id", "concat('person-', id) AS name")
    return len(named.repartition(2, "name").sortWithinPartitions("name").collect())
