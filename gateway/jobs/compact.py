"""The kind ``compact``: what was changed is worked into the base, superseded versions into history.

Asked for, it works in all changes; with ``mode => 'auto'`` it does what the limits ask for.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.jobs import in_spark
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.engines import ENGINES
from gateway.jobs.segments import run_segments
from journal.model.errors import Code, PalimpsestError
from journal.model.limits import Slo
from journal.records.report import JobReport
from spark_compaction import planner
from spark_compaction.contract import GRACE_US, JobRequest


def _run(context: JobContext) -> JobReport:
    from spark_compaction.programs.compaction import CompactJob

    return run_segments(context, CompactJob(mode=context.text("mode") or "major"))


def _run_on_database(context: JobContext) -> JobReport:
    from spark_compaction.backends.postgres.compaction import compact
    from spark_compaction.backends.postgres.spark_filling import Fill, by_server, by_spark

    mode, table = context.text("mode") or "major", context.table
    if mode not in {"major", "auto"}:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"a database has no compaction in mode {mode}",
            advice="use major, or auto, which does it when the table's limits ask for it",
        )
    journal = context.database
    state, limits = journal.state.tables[table.id], Slo.of(table)
    wanted = planner.due(state.manifest, limits, journal.clock.now(), state.head_counts)
    if mode == "auto" and wanted is None:
        why = "within the limits of the table"
        return JobReport(context.job_id, "compact", str(table.name), "nothing", why)
    grace_us = context.grace_us(GRACE_US)
    asked = JobRequest(table, context.job_id, context.dry_run, grace_us, context.progress)
    fill: Fill = by_server
    if context.session.settings.job_engine.lower() == "spark":
        engine = ENGINES.jdbc(context.session.settings.spark_master)
        fill = by_spark(engine, context.progress)
    report = compact(journal, asked, fill)
    told = planner.details("major", state.manifest, state.head_counts)
    return replace(report, details={**told, **report.details})


KIND = JobKind(
    "compact",
    "work changes into the base, and old versions into history",
    _run,
    ("mode",),
    _run_on_database,
    in_spark.compact,
    lambda given: given.word("mode", "auto", "minor", "major"),
)
