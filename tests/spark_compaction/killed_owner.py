"""A process that owns a warehouse, compacts, and kills itself with SIGKILL at the step it is told.

python -m tests.spark_compaction.killed_owner WAREHOUSE STEP
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from journal.model.segment import SegmentFile
from journal.stores.embedded import retired_files
from journal.stores.embedded.warehouse import Warehouse
from spark_compaction.contract import Progress
from spark_compaction.engines.client import SparkEngine, SparkOptions
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job
from tests.support.client import Client
from tests.support.spark import CONF

STEPS = ("before stage", "in stage", "after stage", "in commit", "after swap", "in reap")
SPARK_STEPS = ("in spark",)


def die(*_: Any, **__: Any) -> Any:
    """Be gone at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def _die_amid(warehouse: Warehouse, files: Iterable[SegmentFile]) -> None:
    (warehouse.root / next(iter(files)).path).unlink()
    die()


class _Dying(LocalEngine):
    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        if self._step == "before stage":
            die()
        if self._step == "in stage":
            super().map(function, units[:1], progress)
            die()
        found = super().map(function, units, progress)
        if self._step == "after stage":
            die()
        return found


class _DyingOnSpark(SparkEngine):
    """Dies while executors are at work: as soon as the first file is there."""

    def __init__(self, root: Path) -> None:
        super().__init__(SparkOptions(master="local[2]", conf=CONF))
        self._root = root
        self._before = set(root.glob("*/*/*/*"))

    def map(self, function: str, units: Sequence[Any], progress: Progress) -> list[Any]:
        import threading

        self.start()
        threading.Thread(target=self._watch, daemon=True).start()
        super().map(function, units, progress)
        die()
        return []

    def _watch(self) -> None:
        while set(self._root.glob("*/*/*/*.parquet*")) <= self._before:
            time.sleep(0.001)
        die()


def main() -> None:
    """Compact table 1, and never come to the end."""
    root, step = Path(sys.argv[1]), sys.argv[2]
    run = Client(root)
    engine: Any = _DyingOnSpark(root) if step in SPARK_STEPS else _Dying(step)
    if step == "after swap":
        retired_files.reap = die
    if step == "in reap":
        Warehouse.remove_files = _die_amid  # type: ignore[method-assign]
    run_job(
        run.connection.session.journal,
        CompactJob("major", rows_max=200, small_files_min=2),
        1,
        engine,
        options=RunOptions(grace_us=0),
        check=die if step == "in commit" else None,
    )


if __name__ == "__main__":
    main()
