"""The kind ``retain``: rows, versions and history past their time go."""

from __future__ import annotations

from dataclasses import replace

from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from journal.records.report import JobReport
from spark_compaction.maintenance import required
from spark_compaction.programs.archives import move_archive


def _run(context: JobContext) -> JobReport:
    retain = required(context.maintenance.retain, "retention", context.session.journal.place)
    now = context.given.moment("now") or context.moment
    return _move_archived(context, retain(context.request(), now, context.session.recorded_user))


def _move_archived(context: JobContext, report: JobReport) -> JobReport:
    """Move archived rows to the place of the policy; returns the report with it."""
    place = context.policy.archive
    moved = None if place is None or context.dry_run else move_archive(backup_run(context), place)
    if moved is None:
        return report
    told = {"archive": moved.name, "archived_to": moved.place, "archived_rows": moved.rows}
    return replace(report, state="done", details={**report.details, **told})


KIND = JobKind(
    "retain",
    "remove rows, versions and history past their time",
    _run,
    ("now",),
    lambda given: given.moment("now"),
)
