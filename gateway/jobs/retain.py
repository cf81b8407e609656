"""The kind ``retain``: rows, versions and history past their time go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.segments import run_segments
from journal.records.report import JobReport
from spark_compaction.programs.archives import move_archive


def _run(context: JobContext) -> JobReport:
    from spark_compaction.programs.retention import Retention

    job = Retention(_moment(context))
    report = run_segments(
        context,
        job,
        lambda state: job.check(context.journal, state, context.table.id),
        leaves=lambda: job.settled,
    )
    return _move_archived(context, report)


def _move_archived(context: JobContext, report: JobReport) -> JobReport:
    """The report, after what is archived was moved to where the policy says."""
    place = context.policy.archive
    moved = None if place is None or context.dry_run else move_archive(backup_run(context), place)
    if moved is None:
        return report
    told = {"archive": moved.name, "archived_to": moved.place, "archived_rows": moved.rows}
    return replace(report, state="done", details={**report.details, **told})


def _run_on_database(context: JobContext) -> JobReport:
    from spark_compaction.backends.postgres.maintenance import retain

    now = _moment(context) or context.moment
    report = retain(context.database, context.request(), now, context.session.user)
    return _move_archived(context, report)


def _run_on_hive(context: JobContext) -> JobReport:
    from spark_compaction.backends.hive.maintenance import retain

    now = _moment(context) or context.moment
    report = retain(context.hive, context.request(), now, context.session.user)
    return _move_archived(context, report)


def _moment(context: JobContext) -> datetime | None:
    return context.given.moment("now") or context.now


KIND = JobKind(
    "retain",
    "remove rows, versions and history past their time",
    _run,
    ("now",),
    _run_on_database,
    _run_on_hive,
    lambda given: given.moment("now"),
)
