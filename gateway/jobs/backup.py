"""The kind ``backup``: what a table consists of gets a name, and stays until the backup expires.

Nothing is copied: segments never change, so their list is the backup. The head is sealed first.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from gateway.jobs.context import JobContext, JobKind
from journal.duration import Duration
from journal.errors import Code, PalimpsestError
from journal.jobs import backups
from journal.jobs.backups import Backup, BackupKind
from journal.jobs.contract import JobReport, Volume
from journal.jobs.swap import settled_version
from journal.stores import duckdb_maintenance as rows_of
from journal.version import Version

_ROUNDS_MAX = 5


def _run(context: JobContext) -> JobReport:
    name = context.text("name") or f"backup-{context.moment:%Y%m%d-%H%M%S}"
    if context.flag("drop"):
        return _drop(context, name)
    if context.dry_run:
        settled = context.journal.state.version
        backup = _backup(context, name, BackupKind.NAMED, _expiry(context), settled)
        assert backup is not None, "no row is newer than the state"
    else:
        backup = make(context, name, BackupKind.NAMED, _expiry(context))
    return report(context, backup, "planned" if context.dry_run else "done")


def make(context: JobContext, name: str, kind: BackupKind, expires_at: datetime | None) -> Backup:
    """Seal the head and record what the table consisted of when it was sealed.

    Rows committed since, in the next head or in segments of their own, are not part of it.
    """
    journal = context.journal
    for _ in range(_ROUNDS_MAX):
        settled = settled_version(journal, context.table.id)
        with journal.exclusive_session() as session:
            backup = _backup(context, name, kind, expires_at, settled)
            if backup is not None:
                backups.add(session, backup)
                session.commit()
                return backup
    raise PalimpsestError(
        Code.JOB_FAILED,
        f"other jobs replaced segments of {context.table.name} whenever it was to be backed up",
        advice="run it again when fewer jobs run",
    )


def _backup(
    context: JobContext,
    name: str,
    kind: BackupKind,
    expires_at: datetime | None,
    settled: Version,
) -> Backup | None:
    segments = backups.segments_at(context.journal.state.tables[context.table.id], settled)
    if segments is None:
        return None
    return Backup(
        name=name,
        kind=kind,
        table_id=context.table.id,
        table_name=str(context.table.name),
        version=settled,
        segments=segments,
        made_by=context.session.user,
        made_at=context.moment,
        expires_at=expires_at,
    )


def _expiry(context: JobContext) -> datetime | None:
    text = context.text("expires")
    return None if text is None else Duration.parse(text).after(context.moment)


def _drop(context: JobContext, name: str) -> JobReport:
    with context.journal.exclusive_session() as session:
        found = backups.named(
            backups.load(session, context.table.id), name, str(context.table.name)
        )
        if not context.dry_run:
            rows_of.drop_backup(session, context.table.id, name)
            session.commit()
    return report(context, found, "planned" if context.dry_run else "done")


def report(context: JobContext, backup: Backup, state: str) -> JobReport:
    """What a backup holds."""
    volume = Volume(len(backup.paths), backup.rows, backup.bytes)
    expires = None if backup.expires_at is None else backup.expires_at.isoformat()
    return JobReport(
        id=context.job_id,
        kind="backup",
        table=str(context.table.name),
        state=state,
        details={
            "backup": backup.name,
            "version": backup.version,
            "expires_at": expires,
            "holds": asdict(volume),
        },
    )


KIND = JobKind("backup", "name what a table consists of now", _run, ("name", "expires", "drop"))
