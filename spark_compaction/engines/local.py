"""Jobs without Spark: the same functions, one unit after another, in this process.

For tables so small that starting a JVM would take longer than the work, and where there is none.
Functions that need a Spark session are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from journal.model.errors import Code, PalimpsestError
from spark_compaction.contract import Json, Progress
from spark_compaction.engines.functions import load_function


class LocalEngine:
    """Runs units in the calling thread; it stops between two of them."""

    @property
    def spark(self) -> Any:
        """There is none."""
        raise PalimpsestError(
            Code.JOB_ENGINE, "this job needs Spark", advice="SET job_engine = 'spark'"
        )

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit, in order."""
        call = load_function(function)
        results = []
        for done, unit in enumerate(units):
            progress(function, done, len(units))
            results.append(call(unit))
        progress(function, len(units), len(units))
        return results

    def run(self, function: str, task: Mapping[str, Json], progress: Progress) -> Json:
        """``function(self, task, progress)``."""
        return load_function(function)(self, task, progress)
