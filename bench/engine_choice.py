"""Is the engine that ``auto`` chooses for a job the one that is done sooner?

Tables of several sizes, of which a tenth was changed, are compacted in this process, on a Spark
that has to be started, and on one that is warm. Every round works on a fresh copy of the warehouse
(its segments by hard link). A choice is right if no other is sooner by more than the rounds differ.
"""

from __future__ import annotations

import os
import shutil
import time

from bench import lineitem
from bench.compaction import copied
from bench.contenders import TABLE, loaded_gateway
from bench.measure import Promise, Report, Run
from bench.options import Options, read_options
from gateway.jobs.engine_costs import is_spark_sooner
from spark_compaction.contract import Engine
from spark_compaction.engines.client import SparkEngine, SparkOptions
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job

LOCAL, COLD, WARM = "in process", "spark, started", "spark, warm"
_PARTS = (40, 10, 4, 2, 1)
"""The sizes, as parts of the rows that the options ask for."""
_LIMIT = 1.15
_ROUNDS = 3


def measure(options: Options) -> Report:
    """Compact at every size, on every engine."""
    report = Report("where jobs run", options.rows)
    cores = len(os.sched_getaffinity(0))
    report.facts["cores"] = cores
    spark = SparkOptions(master=f"local[{cores}]")
    warm = SparkEngine(spark)
    try:
        warm.start()
        for part in _PARTS[-2:] if options.quick else _PARTS:
            _measure(report, options, warm, spark, options.rows // part, cores)
    finally:
        warm.close()
    return report


def _measure(
    report: Report, options: Options, warm: SparkEngine, spark: SparkOptions, rows: int, cores: int
) -> None:
    """Load so many rows, change a tenth of them, and compact copies of that."""
    template = options.work / "engine_choice"
    with loaded_gateway(template, lineitem.lineitem_file(options.work, rows)) as ours:
        for step in (1, 10):
            for statement in lineitem.changes(TABLE, step):
                ours.run(statement)
        ours.rows("CALL system.flush()")
        ((size,),) = ours.rows("SELECT sum(bytes)::BIGINT FROM system.journals")
        ours.connection.close()
        _compare(report, options, warm, spark, int(size), cores)


def _compare(
    report: Report, options: Options, warm: SparkEngine, spark: SparkOptions, size: int, cores: int
) -> None:
    template, work = options.work / "engine_choice", options.work / "engine_choice_round"
    case = f"{size / 1e6:,.0f} MB"

    def compact(engine: Engine) -> float:
        with copied(template, work) as journal:
            began = time.perf_counter()
            table_id = next(iter(journal.state.tables))
            job = CompactJob("major")
            run_job(journal, job, table_id, engine, options=RunOptions(grace_us=0))
            return time.perf_counter() - began

    def started() -> float:
        engine = SparkEngine(spark)
        try:
            began = time.perf_counter()
            engine.start()
            return time.perf_counter() - began + compact(engine)
        finally:
            engine.close()

    contenders: dict[str, Run] = {
        LOCAL: lambda: compact(LocalEngine()),
        COLD: started,
        WARM: lambda: compact(warm),
    }
    report.compare(case, contenders, min(options.repeats, _ROUNDS))
    for name, is_warm in ((COLD, False), (WARM, True)):
        chosen = name if is_spark_sooner(size, cores, is_warm=is_warm) else LOCAL
        other = LOCAL if chosen == name else name
        ratio = report.median_ms(case, chosen) / report.median_ms(case, other)
        promise = Promise(f"the other, {name}", _LIMIT)
        report.judge(f"{case}: {chosen}", promise, [ratio])
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    chosen = read_options(__doc__ or "")
    measure(chosen).finish(chosen.json)
