"""Backups: names the segments of a table, and keeps them until the backup expires.

Nothing is copied: segments never change, so their list is the backup. With a place the files are
copied there, and the copy is what is recorded. A copy is made of a backup that is kept while it is
written, so that writers go on.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime, timedelta

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import ESTIMATED, UNKNOWN, JobReport, Volume
from journal.transactions.reading import committed_state
from spark_compaction.limits import PLANS_MAX
from spark_compaction.programs import copies
from spark_compaction.programs.backup_store import BackupRun

_COPYING = timedelta(days=7)
"""How long a backup that is being copied is kept if the process ends meanwhile."""


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """The name of a backup, and when it expires; ``place`` is where a copy goes.

    The copy keeps ``definition``, the statements that make a table like this one.
    """

    name: str
    expires_at: datetime | None = None
    place: str | None = None
    definition: tuple[str, ...] = ()


def backup(run: BackupRun, given: BackupOptions) -> JobReport:
    """Name what the table consists of now, or copy it to a place."""
    naming = run.naming(given.name, BackupKind.NAMED, given.expires_at)
    if given.place is not None:
        place = copies.full_place(run.transport.root, given.place)
        return _copy(run, naming, place, given.definition)
    if run.dry_run:
        return _planned(run, naming)
    return report(run, record(run, naming, is_whole=True), "done")


def _planned(run: BackupRun, naming: Naming) -> JobReport:
    """What a backup would hold; of heads that are not sealed the size is estimated."""
    found, is_exact = run.store.planned(naming)
    planned = report(run, found, "planned")
    inexact = {} if is_exact else {"details.holds.bytes": ESTIMATED}
    return replace(planned, inexact={**inexact, **planned.inexact})


def record(run: BackupRun, naming: Naming, *, is_whole: bool = False) -> Backup:
    """Record what the table consists of, with all that was committed before.

    Raises BACKUP if the name is taken, JOB_BUSY if jobs keep replacing parts of the table, and
    SEGMENT_DAMAGED if a backup that ``is_whole`` would list a damaged file.
    """
    if any(b.name == naming.name for b in run.backups()):
        raise backups.name_taken(str(run.table.name), naming.name)
    for _ in range(PLANS_MAX):
        made = run.store.record(naming, is_whole=is_whole)
        if made is not None:
            return made
    raise PalimpsestError(
        Code.JOB_BUSY,
        f"other jobs replaced parts of {run.table.name} at each attempt to back it up",
        advice="run it again when fewer jobs run",
    )


def drop(run: BackupRun, name: str) -> JobReport:
    """Forget a backup, with its files if it is a copy, and drop what only it has kept."""
    found = next((b for b in run.backups() if b.name == name), None)
    if found is None:
        found = backups.backup_named((), name, str(run.table.name))
    if not run.dry_run and found.place is not None:
        with run.transport.lock():
            copies.remove(run.journal, found, gives_up=True)
    elif not run.dry_run:
        forget(run, name)
        run.store.reap()
    return report(run, found, run.state(changes=True))


def forget(run: BackupRun, *names: str) -> None:
    """Forget backups of the table whose pieces are in the store."""
    with run.journal.exclusive_session() as session:
        backups.drop(session, run.table.id, names)
        session.commit()


def _copy(run: BackupRun, naming: Naming, place: str, definition: tuple[str, ...]) -> JobReport:
    refuse_hidden_rows(run)
    if run.dry_run:
        return _planned(run, naming)
    listing = run.naming(backups.copying(run.job_id), BackupKind.TRASH, run.moment + _COPYING)
    record(run, listing)
    try:
        with run.transport.lock():
            refuse_hidden_rows(run)
            # As it is now: an erasure may have rewritten it since.
            listed = backups.backup_named(run.backups(), listing.name, str(run.table.name))
            wanted = replace(
                listed, name=naming.name, kind=naming.kind, expires_at=naming.expires_at
            )
            wanted = replace(wanted, definition=definition)
            copied = copies.put_copy(run.transport, wanted, place, run.progress)
    finally:
        forget(run, listing.name)
        run.store.reap()
    return report(run, copied, "done")


def hides_rows(run: BackupRun) -> bool:
    """True while rows of the table are being erased."""
    return bool(committed_state(run.journal).tables[run.table.id].manifest.masks)


def refuse_hidden_rows(run: BackupRun) -> None:
    """Raise BACKUP while rows of the table are being erased: a copy would hold them."""
    if hides_rows(run):
        raise PalimpsestError(
            Code.BACKUP,
            f"rows of {run.table.name} are being erased, and the backup would copy them",
            advice="run `palimpsest erase run` first",
        )


def report(run: BackupRun, backup: Backup, state: str, why: str = "") -> JobReport:
    """What a backup holds."""
    volume = Volume(len(backup.paths), backup.rows, backup.bytes or 0)
    expires = None if backup.expires_at is None else backup.expires_at.isoformat()
    return JobReport(
        id=run.job_id,
        kind="backup",
        table=str(run.table.name),
        state=state,
        why=why,
        inexact={} if backup.bytes is not None else {"details.holds.bytes": UNKNOWN},
        details={
            "backup": backup.name,
            "version": backup.version,
            "expires_at": expires,
            "place": backup.place,
            "holds": asdict(volume),
        },
    )
