"""The kind ``retain``: removes rows, versions, history and lineage that have expired."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from journal.model.lineage import table_node
from journal.records.lineage import forget_lineage
from journal.records.report import JobReport
from spark_compaction.maintenance import required
from spark_compaction.programs.archives import move_archive


def _run(context: JobContext) -> JobReport:
    retain = required(context.maintenance.retain, "retention", context.session.journal.place)
    now = context.given.moment("now") or context.moment
    done = retain(context.request(), now, context.session.recorded_user)
    return _forget_lineage(context, _move_archived(context, done), now)


def _move_archived(context: JobContext, report: JobReport) -> JobReport:
    """Move archived rows to the place of the policy; returns the report with it."""
    place = context.policy.archive
    moved = None if place is None or context.dry_run else move_archive(backup_run(context), place)
    if moved is None:
        return report
    told = {"archive": moved.name, "archived_to": moved.place, "archived_rows": moved.rows}
    return replace(report, state="done", details={**report.details, **told})


def _forget_lineage(context: JobContext, report: JobReport, now: datetime) -> JobReport:
    """Forget lineage of the table past its time; returns the report with how many edges went."""
    limit = context.policy.lineage
    if limit is None:
        return report
    session, node = context.session, table_node(context.table.id)
    # What was counted in memory says when statements ran last.
    session.executor.lineage.record()
    with session.journal.exclusive_session() as store:
        gone = forget_lineage(store, node, limit.before(now), dry_run=context.dry_run)
        if not context.dry_run:
            store.commit()
    state = "done" if gone and report.state == "nothing" and not context.dry_run else report.state
    return replace(report, state=state, details={**report.details, "lineage_forgotten": gone})


KIND = JobKind(
    "retain",
    "remove rows, versions, history and lineage past their time",
    _run,
    ("now",),
    lambda given: given.moment("now"),
)
