"""Jobs that replace segments, run by the loop they share.

Those that remove rows leave a backup of what was before. The grace of what they retire is the
table's BACKUP policy, else a day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.jobs.context import JobContext
from journal.model.segment import Segment
from journal.model.version import Version
from journal.records import backups
from journal.records.report import JobReport
from journal.transactions.state import JournalState
from spark_compaction.contract import GRACE_US, Job
from spark_compaction.programs.swap import Check


def run_segments(
    context: JobContext,
    job: Job,
    check: Check | None = None,
    *,
    leaves: Callable[[], Version] | None = None,
) -> JobReport:
    """Run a job of the loop on the context's table.

    One that removes rows ``leaves`` a backup of the table at a version: the one it was planned at.
    """
    from spark_compaction.runner import RunOptions, run_job

    def before_swap(state: JournalState) -> Sequence[Segment]:
        late = () if check is None else check(state)
        if leaves is not None:
            _leave_backup(context, job.kind, state, leaves())
        return late

    return run_job(
        context.journal,
        job,
        context.table.id,
        context.engine(),
        options=RunOptions(
            dry_run=context.dry_run, grace_us=context.grace_us(GRACE_US), job_id=context.job_id
        ),
        progress=context.progress,
        check=before_swap,
    )


def _leave_backup(context: JobContext, kind: str, state: JournalState, settled: Version) -> None:
    """Note what the table consists of, inside the commit section that changes it."""
    segments = backups.segments_at(state.tables[context.table.id], settled)
    assert segments is not None, "nobody else replaces segments while a job runs"
    naming = backups.left_by(kind, context.job_id, context.session.user, context.moment)
    with context.journal.exclusive_session() as session:
        backups.add_once(session, naming.backup(context.table, segments, settled))
        session.commit()
