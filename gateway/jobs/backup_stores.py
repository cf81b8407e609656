"""Finds where the store of a session keeps its backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.jobs.context import JobContext
from spark_compaction.maintenance import required

if TYPE_CHECKING:
    from spark_compaction.programs.backup_store import BackupRun


def backup_run(context: JobContext) -> BackupRun:
    """A run of a job, as the programs of backups are given it."""
    from spark_compaction.programs.backup_store import BackupRun

    place = context.session.journal.place
    return BackupRun(
        required(context.maintenance.backups, "backups", place)(context.table),
        context.job_id,
        context.session.recorded_user,
        context.moment,
        context.dry_run,
        context.progress,
        context.log,
    )
