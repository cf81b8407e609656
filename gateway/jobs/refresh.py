"""The kind ``refresh``: stores the rows of a materialised view's query again."""

from __future__ import annotations

from gateway.jobs.context import JobContext, JobKind
from gateway.procedures.view_refresh import refresh
from journal.records.report import JobReport
from journal.transactions.reading import committed_state


def _run(context: JobContext) -> JobReport:
    name = str(context.table.name)
    view = committed_state(context.session.journal).catalog.by_id(context.table.id)
    if view is None or view.materialized is None:
        why = "it is no materialized view"
        return JobReport(context.job_id, "refresh", name, "nothing", why)
    if context.dry_run:
        return JobReport(context.job_id, "refresh", name, "planned", "its query would be run")
    rows = refresh(context.session, view)
    return JobReport(context.job_id, "refresh", name, "done", details={"rows": rows})


KIND = JobKind("refresh", "store the rows of materialized views anew", _run)
