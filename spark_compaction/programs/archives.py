"""Moves archived rows to another place as a copy that erasures reach.

Archived rows stay in the store until they are known to lie elsewhere; killed in between, the next
run goes on. Which rows are archived is the retention's to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from journal.records import backups
from journal.records.backups import Backup, BackupKind
from journal.records.report import JobReport
from spark_compaction.programs import copies
from spark_compaction.programs.backup import BackupOptions, hides_rows, refuse_hidden_rows, report
from spark_compaction.programs.backup_store import BackupRun

ARCHIVE = "archive"
"""The name under which archived rows are restored."""


def copy_archive(run: BackupRun, given: BackupOptions) -> JobReport:
    """Move what is archived to a place, as a copy of the name given.

    One that was killed before the rows were released is finished, and one that was not is complete.
    Raises BACKUP if nothing is archived, or rows of the table are being erased.
    """
    place = copies.full_place(run.transport.root, given.place or "")
    target = copies.place_of(place, str(run.table.name), given.name)
    with run.transport.lock():
        refuse_hidden_rows(run)
        here = run.store.archived()
        known = [b for b in copies.recorded_copies(run.journal, run.table.id) if b.place == target]
        if not run.dry_run:
            copies.undo_halves(run.journal, run.table.id, given.name)
        there = next((copies.read_copy(b) for b in known if b.is_archive), None)
        left = _not_in(here, [] if there is None else [there])
        if there is not None and not left:
            if not run.dry_run:
                release(run, here)
            why = f"the copy in {target} is complete"
            done = report(run, there, run.state(changes=bool(here)), why)
        else:
            naming = run.naming(given.name, BackupKind.ARCHIVE, given.expires_at)
            archive = backups.merged(left, naming, run.table)
            if run.dry_run:
                return report(run, archive, "planned")
            done = report(run, _move(run, archive, place, here), "done")
    if not run.dry_run:
        run.store.reap()
    return done


def move_archive(run: BackupRun, place: str) -> Backup | None:
    """Move what is archived to a place, as a copy ``archive-<job>``; None if nothing is to be done.

    Nothing is moved while rows of the table are being erased: a later run does it.
    """
    target, copied = copies.full_place(run.transport.root, place), None
    with run.transport.lock():
        if hides_rows(run):
            return None
        here = run.store.archived()
        if not here:
            return None
        # One that was killed before the archived rows were released has moved them all the same.
        known = [b for b in copies.finished_copies(run.journal, run.table.id) if b.is_archive]
        away = [*known, *(copies.read(b.place or "")[0] for b in known)]
        left = _not_in(here, away)
        if left:
            naming = run.naming(f"archive-{run.job_id}", BackupKind.ARCHIVE)
            copied = _move(run, backups.merged(left, naming, run.table), target, here)
        else:
            release(run, here)
    run.store.reap()
    return copied


def _move(run: BackupRun, archive: Backup, place: str, here: Sequence[Backup]) -> Backup:
    copied = copies.put_copy(run.transport, archive, place, run.progress)
    release(run, here)
    return copied


def _not_in(here: Iterable[Backup], away: Iterable[Backup]) -> list[Backup]:
    """Archived rows that copies do not hold yet."""
    moved = {s.id for b in away for s in b.segments}
    return [b for b in here if not {s.id for s in b.segments} <= moved]


def release(run: BackupRun, found: Sequence[Backup]) -> None:
    """Keep archived rows no longer in the store: they lie elsewhere now."""
    if found:
        run.store.release(found)
