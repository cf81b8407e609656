"""What does a replica cost against a plain Spark copy of the same files, and a run with no change?

Every round replicates the table into a new warehouse: seal, package, copies with checksums,
records, commit. The Spark session that copies is warm.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from bench import lineitem
from bench.contenders import TABLE, loaded_gateway
from bench.measure import OURS, Promise, Report
from bench.options import Options, read_options
from gateway.jobs.runs import run_named
from gateway.session.operations import no_progress
from spark_compaction.contract import silent
from spark_compaction.engines.client import SparkEngine, SparkOptions

SPARK_COPY = "spark copy"
_LIMIT = 1.2
_CHANGED = 1
"""Percent of the rows that are changed before."""


def measure(options: Options) -> Report:
    """Load, change, then compare a first replication with a copy, and look at the second."""
    report = Report("replication", options.rows)
    source = lineitem.lineitem_file(options.work, options.rows)
    conf = {"spark.driver.memory": "2g"}
    engine = SparkEngine(SparkOptions(master=f"local[{len(os.sched_getaffinity(0))}]", conf=conf))
    place, target = options.work / "replicated", options.work / "replica"
    try:
        with loaded_gateway(place, source) as ours:
            for statement in lineitem.changes(TABLE, _CHANGED):
                ours.run(statement)
            ours.rows("CALL system.flush()")
            files = [str(p) for p in sorted(place.glob("bench/*/*/*.parquet"))]
            session = ours.connection.session

            def told() -> dict[str, Any]:
                given = {"to": f"palimpsest:///{target}"}
                (run,) = run_named(session, no_progress, "replicate", given, [TABLE])
                assert run.report is not None, run.error
                found: dict[str, Any] = run.report.details["targets"][0]
                return found

            def replicate() -> float:
                shutil.rmtree(target, ignore_errors=True)
                began = time.perf_counter()
                assert told()["made"]
                return time.perf_counter() - began

            def spark_copy() -> float:
                copied = str(options.work / "replica_copy")
                began = time.perf_counter()
                engine.run("bench.compaction:copy", {"files": files, "target": copied}, silent)
                return time.perf_counter() - began

            promises = [Promise(SPARK_COPY, _LIMIT)]
            runs = {SPARK_COPY: spark_copy, OURS: replicate}
            report.compare("first run", runs, options.repeats, promises)
            began = time.perf_counter()
            second = told()
            report.facts["second run: ms"] = round((time.perf_counter() - began) * 1000)
            report.facts["second run: files read"] = second["files"]
            report.facts["bytes"] = sum(os.path.getsize(f) for f in files)  # noqa: PTH202
            assert (second["changed"], second["files"], second["bytes"]) == (False, 0, 0)
    finally:
        engine.close()
    return report


if __name__ == "__main__":
    given = read_options(__doc__ or "")
    measure(given).finish(given.json)
