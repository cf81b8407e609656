"""The kind ``backup``: what a table consists of gets a name, and stays until the backup expires.

Nothing is copied: segments never change, so their list is the backup. The head is sealed first.
With ``to`` the files are copied into a folder, here or elsewhere, and the copy is what is recorded;
with ``archive`` those are copied that retention has archived, and need not stay here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from gateway.jobs.arguments import Arguments, wrong
from gateway.jobs.context import JobContext, JobKind
from journal.model.errors import Code, PalimpsestError
from journal.model.places import is_elsewhere, local_path
from journal.model.version import Version
from journal.records import backups, retired
from journal.records import maintenance as rows_of
from journal.records.backups import Backup, BackupKind
from journal.records.report import ESTIMATED, JobReport, Volume
from journal.records.retired import RetiredSegment
from journal.stores.embedded import retired_files
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.programs import copies
from spark_compaction.programs.swap import settled_version
from spark_compaction.programs.unsealed import unsealed

_ROUNDS_MAX = 5


def _run(context: JobContext) -> JobReport:
    name = context.text("name") or f"backup-{context.moment:%Y%m%d-%H%M%S}"
    if context.flag("drop"):
        return _drop(context, name)
    if context.text("to") is not None:
        return _copy(context, name)
    if context.dry_run:
        return _planned(context, name)
    backup = make(context, name, BackupKind.NAMED, expiry(context), is_whole=True)
    return report(context, backup, "done")


def _planned(context: JobContext, name: str) -> JobReport:
    """What a backup would hold, with heads as the segments they would be."""
    journal, table_id = context.journal, context.table.id
    with journal.sealing_lock(table_id), journal.reading_session() as session:
        settled, state = journal.state.version, journal.state.tables[table_id]
        heads = tuple(u.segment for u in unsealed(session, state, settled))
    backup = _backup(context, name, BackupKind.NAMED, expiry(context), settled)
    assert backup is not None, "no row is newer than the state"
    backup = replace(backup, segments=(*backup.segments, *heads))
    inexact = {"details.holds.bytes": ESTIMATED} if heads else {}
    return replace(report(context, backup, "planned"), inexact=inexact)


def make(
    context: JobContext,
    name: str,
    kind: BackupKind,
    expires_at: datetime | None,
    *,
    is_whole: bool = False,
) -> Backup:
    """Seal the head and record what the table consisted of when it was sealed.

    Rows committed since, in the next head or in segments of their own, are not part of it. One that
    ``is_whole`` lists no damaged file: raises SEGMENT_DAMAGED.
    """
    journal = context.journal
    for _ in range(_ROUNDS_MAX):
        settled = settled_version(journal, context.table.id)
        if is_whole:
            _check_files(context)
        with journal.exclusive_session() as session:
            backup = _backup(context, name, kind, expires_at, settled)
            if backup is not None:
                if is_whole:
                    journal.checker.check(backup.segments)
                backups.add(session, backup)
                session.commit()
                return backup
    raise PalimpsestError(
        Code.JOB_FAILED,
        f"other jobs replaced segments of {context.table.name} whenever it was to be backed up",
        advice="run it again when fewer jobs run",
    )


def _check_files(context: JobContext) -> None:
    """Read most of what will be listed while others commit: it may take a while."""
    journal = context.journal
    transaction = journal.begin(read_only=True)
    try:
        state = transaction.snapshot.tables.get(context.table.id)
        journal.checker.check(() if state is None else state.manifest.segments)
    finally:
        journal.rollback(transaction)


def _copy(context: JobContext, name: str) -> JobReport:
    """Copy files elsewhere, while no other job replaces segments of the table."""
    place = outside(context.journal.root, context.text("to") or "")
    with job_turn(context.journal, context.table.id):
        refuse_hidden_rows(context)
        if context.flag("archive"):
            return _archive(context, name, place)
        if context.dry_run:
            return _planned(context, name)
        return report(context, put_copy(context, _to_copy(context, name), place), "done")


def _archive(context: JobContext, name: str, place: str) -> JobReport:
    """Copy what retention has archived, which then need not stay here.

    One that was killed before it was let go is finished, and one that was not is complete.
    """
    journal, table = context.journal, context.table
    with journal.reading_session() as session:
        here = backups.archived(retired.load(session, table.id))
        known = [b for b in backups.load(session, table.id) if b.name == name and b.is_archive]
    if not context.dry_run:
        copies.undo_halves(journal, table.id, name)
    target = copies.place_of(place, str(table.name), name)
    there = next((copies.there(b) for b in known if b.place == target), None)
    moved = frozenset() if there is None else frozenset(s.id for s in there.segments)
    left = [r for r in here if r.segment.id not in moved]
    if there is None or left:
        backup = backups.archive(left, name, table, context.moment)
        backup = replace(backup, expires_at=expiry(context), made_by=context.session.user)
        if context.dry_run:
            return report(context, backup, "planned")
        _let_go(context, [r for r in here if r not in left])
        there = put_copy(context, backup, place)
        _let_go(context, left)
        return report(context, there, "done")
    why = f"the copy in {target} is complete"
    if here and not context.dry_run:
        _let_go(context, here)
    state = "nothing" if not here else "planned" if context.dry_run else "done"
    return replace(report(context, there, state), why=why)


def _let_go(context: JobContext, found: Sequence[RetiredSegment]) -> None:
    """Remove archived segments that lie elsewhere now."""
    journal = context.journal
    if not found:
        return
    with journal.exclusive_session() as session:
        retired.keep_until(session, [r.id for r in found], journal.clock.now())
        session.commit()
    retired_files.reap(journal, journal.clock.now(), context.table.id)


def refuse_hidden_rows(context: JobContext) -> None:
    """Raise BACKUP while rows of the table are being erased: a copy would hold them."""
    if context.hides_rows():
        raise PalimpsestError(
            Code.BACKUP,
            f"rows of {context.table.name} are being erased, and would be copied",
            advice="run `palimpsest erase run` first",
        )


def put_copy(context: JobContext, backup: Backup, place: str) -> Backup:
    """Copy the files of a backup to a place, whole; who calls holds the table's turn."""
    journal = context.journal
    with journal.pins.hold(backup.paths):
        return copies.put(
            copies.WarehouseSide(journal), backup, context.table, place, context.progress
        )


def _to_copy(context: JobContext, name: str) -> Backup:
    """What is to be copied."""
    settled = settled_version(context.journal, context.table.id)
    made = _backup(context, name, BackupKind.NAMED, expiry(context), settled)
    assert made is not None, "nobody else replaces segments meanwhile"
    return made


def outside(root: Path | None, place: str) -> str:
    """A place in full; one inside the warehouse, where it has a ``root``, is refused."""
    if is_elsewhere(place):
        return place
    path = local_path(place).resolve()
    if root is not None and path.is_relative_to(root.resolve()):
        raise wrong(f"{place} lies inside the warehouse", "name a folder outside, or a URL")
    return str(path)


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


def expiry(context: JobContext) -> datetime | None:
    """When the backup that is asked for is forgotten."""
    limit = context.given.duration("expires")
    return None if limit is None else limit.after(context.moment)


def _drop(context: JobContext, name: str) -> JobReport:
    with context.journal.reading_session() as session:
        found = backups.named(
            backups.load(session, context.table.id), name, str(context.table.name)
        )
    if found.place is not None and not context.dry_run:
        with job_turn(context.journal, context.table.id):
            copies.remove(context.journal, found, gives_up=True)
    elif not context.dry_run:
        with context.journal.exclusive_session() as session:
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
            "place": backup.place,
            "holds": asdict(volume),
        },
    )


def _run_on_database(context: JobContext) -> JobReport:
    from gateway.jobs.in_database import backup

    return backup(context)


def _run_on_hive(context: JobContext) -> JobReport:
    from gateway.jobs.kept_in_spark import backup

    return backup(context)


def _check(given: Arguments) -> None:
    given.text("name")
    given.duration("expires")
    given.text("to")
    if given.flag("drop"):
        if given.text("name") is None:
            raise wrong("drop does not say which backup goes", "give its name")
        for other in ("to", "archive", "expires"):
            given.exclude("drop", other)
    if given.flag("archive") and given.text("to") is None:
        raise wrong("archive needs a place to copy to", "give to=URL, or a folder")


KIND = JobKind(
    "backup",
    "name what a table consists of now, or copy it elsewhere",
    _run,
    ("name", "expires", "drop", "to", "archive"),
    _run_on_database,
    _run_on_hive,
    _check,
)
