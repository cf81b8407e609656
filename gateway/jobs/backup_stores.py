"""Where backups of a session's store are kept: found by what maintains the store, loaded lazily."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateway.jobs.context import JobContext
from journal.model.schema import Table
from journal.transactions.protocol import OpenJournal

if TYPE_CHECKING:
    from spark_compaction.programs.backup_store import BackupRun, BackupStore


_BACKUPS = {
    "embedded": "spark_compaction.backends.embedded.backups",
    "postgres": "spark_compaction.backends.postgres.backups",
    "hive": "spark_compaction.backends.hive.backups",
}


def backup_store(journal: OpenJournal, table: Table) -> BackupStore:
    """How the store of these journals keeps backups of a table."""
    found: BackupStore = _backups(journal).store_of(journal, table)
    return found


def tables_past_grace(journal: OpenJournal) -> set[int]:
    """The ids of tables of which something retired is past its grace, and may be dropped."""
    found: set[int] = _backups(journal).overdue(journal)
    return found


def backup_run(context: JobContext) -> BackupRun:
    """A run of a job, as the programs of backups are given it."""
    from spark_compaction.programs.backup_store import BackupRun

    return BackupRun(
        backup_store(context.session.journal, context.table),
        context.job_id,
        context.session.user,
        context.moment,
        context.dry_run,
        context.progress,
        context.log,
    )


def _backups(journal: OpenJournal) -> Any:
    return import_module(_BACKUPS[journal.capabilities.backend])
