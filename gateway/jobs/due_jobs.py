"""Lists the jobs that are due now, and the next runs of scheduled ones; runs nothing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from gateway.jobs.replication_times import next_replications
from gateway.jobs.runs import last_runs
from gateway.jobs.schedule import JobSchedule, LastRuns, scheduled_jobs, triggered_jobs
from gateway.session.operations import Advance, operation
from journal.model.cron import next_run
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.version import to_datetime
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that a scheduler would run: ``at``, or now if that is None, and why."""

    kind: str
    table: str
    why: str
    at: datetime | None = None


@operation
def planned_jobs(session: Session, _advance: Advance) -> list[PlannedJob]:
    """What triggers ask for now, and the next run of what policies schedule, the soonest first."""
    journal = session.journal
    now, last = to_datetime(journal.clock.now()), last_runs(journal)
    catalog = committed_state(journal).catalog
    due = [
        PlannedJob(d.kind, str(d.table.name), d.why) for d in triggered_jobs(session, last)
    ]  # fmt: skip
    later = [_planned(entry, last, now) for entry in scheduled_jobs(catalog, last, now)]
    later += [
        PlannedJob("replicate", str(table.name), f"replication to {clause.target}", at)
        for table in catalog.tables()
        for clause, at in next_replications(session, table, now)
    ]
    return due + sorted(later, key=lambda job: (job.at or now, job.kind, job.table))


def _planned(entry: JobSchedule, last: LastRuns, now: datetime) -> PlannedJob:
    if entry.cron is None:
        is_due = entry.first is not None and entry.first <= now
        at = None if is_due else entry.first
        return PlannedJob(entry.kind, entry.table, "retention", at)
    try:
        following = next_run(entry.cron, now)
    except PalimpsestError as error:
        return PlannedJob(entry.kind, entry.table, f"not scheduled: {error.message}", now)
    return PlannedJob(entry.kind, entry.table, f"schedule '{entry.cron}'", following)
