"""The kind ``compact``: what was changed is worked into the base, superseded versions into history.

Asked for, it works in all changes; with ``mode => 'auto'`` it does what the limits ask for.
"""

from __future__ import annotations

from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.engines import ENGINES
from gateway.jobs.segments import run_segments
from journal.records.report import JobReport


def _run(context: JobContext) -> JobReport:
    from spark_compaction.programs.compaction import CompactJob

    return run_segments(context, CompactJob(mode=context.text("mode") or "major"))


def _run_on_database(context: JobContext) -> JobReport:
    from spark_compaction.backends.postgres.maintenance import compact
    from spark_compaction.backends.postgres.spark_filling import Fill, by_server, by_spark

    fill: Fill = by_server
    if context.session.settings.job_engine.lower() == "spark":
        engine = ENGINES.jdbc(context.session.settings.spark_master)
        fill = by_spark(engine, context.progress)
    return compact(context.database, context.request(), context.text("mode") or "major", fill)


def _run_on_hive(context: JobContext) -> JobReport:
    from spark_compaction.backends.hive.maintenance import compact

    return compact(context.hive, context.request(), context.text("mode") or "major")


KIND = JobKind(
    "compact",
    "work changes into the base, and old versions into history",
    _run,
    ("mode",),
    _run_on_database,
    _run_on_hive,
    lambda given: given.choice("mode", "auto", "minor", "major"),
)
