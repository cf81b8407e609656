"""Copies elsewhere of stores whose rows only a server reads: made, brought back, checked, removed.

A copy is made of a backup that is kept while it is written, so that writers and other jobs go on;
it has the table's turn among copies. Archived rows are backups of the kind ARCHIVE, here, until
they are moved. What a file holds, and how it is loaded again, is the carrier's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta

from gateway.jobs import in_store, restoring
from gateway.jobs.archiving import ARCHIVE
from gateway.jobs.backup import expiry, outside, refuse_hidden_rows, report
from gateway.jobs.context import JobContext
from gateway.jobs.in_store import Keeper, forget
from gateway.procedures.erasers import eraser_of
from gateway.wording import counted
from journal.model.errors import PalimpsestError
from journal.records import backups
from journal.records import maintenance as rows_of
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import JobReport
from spark_compaction.erasure.deferred_search import check_searched
from spark_compaction.programs import backup_transport, copies
from spark_compaction.programs.backup_transport import BackupTransport

_COPYING = timedelta(days=7)
"""How long a backup that is being copied is kept if the process ends meanwhile."""


def backup(context: JobContext, keeper: Keeper) -> JobReport:
    """Give what the table consists of a name, or take the name away, or copy it elsewhere."""
    if context.flag("drop") or context.text("to") is None:
        return in_store.backup(context, keeper)
    return _copy(context, keeper, in_store.name_of(context))


def _copy(context: JobContext, keeper: Keeper, name: str) -> JobReport:
    place = outside(None, context.text("to") or "")
    if context.flag("archive"):
        return _copy_archive(context, keeper, place, name)
    naming = Naming(name, BackupKind.NAMED, context.session.user, context.moment, expiry(context))
    if context.dry_run:
        return report(context, keeper.planned(naming), "planned")
    user, moment = context.session.user, context.moment
    listing = backups.copying(context.job_id)
    keeper.make(Naming(listing, BackupKind.TRASH, user, moment, moment + _COPYING))
    try:
        with keeper.carrier.turn(context.table):
            refuse_hidden_rows(context)
            # As it is now: an erasure may have rewritten it since.
            listed = backups.named(_loaded(context), listing, str(context.table.name))
            wanted = replace(listed, name=name, kind=BackupKind.NAMED, expires_at=naming.expires_at)
            copied = _put(context, keeper.carrier, wanted, place)
    finally:
        forget(context, keeper, listing)
    return report(context, copied, "done")


def _put(context: JobContext, carrier: BackupTransport, backup: Backup, place: str) -> Backup:
    return copies.put(carrier, backup, context.table, place, context.progress)


def _loaded(context: JobContext) -> list[Backup]:
    with context.session.journal.reading_session() as session:
        return backups.load(session, context.table.id)


def _archived_here(context: JobContext) -> list[Backup]:
    return [b for b in _loaded(context) if b.kind is BackupKind.ARCHIVE]


def _copy_archive(context: JobContext, keeper: Keeper, place: str, name: str) -> JobReport:
    """Copy what is archived, which then need not stay here.

    One that was killed before it was let go is finished, and one that was not is complete.
    """
    target = copies.place_of(place, str(context.table.name), name)
    with keeper.carrier.turn(context.table):
        refuse_hidden_rows(context)
        here = _archived_here(context)
        known = [b for b in _loaded(context) if b.place == target and b.is_archive]
        if not context.dry_run:
            copies.undo_halves(context.session.journal, context.table.id, name)
        there = next((copies.there(b) for b in known), None)
        left = _not_in(here, [] if there is None else [there])
        if there is not None and not left:
            if here and not context.dry_run:
                _let_go(context, here)
            state = "nothing" if not here else "planned" if context.dry_run else "done"
            why = f"the copy in {target} is complete"
            return replace(report(context, there, state), why=why)
        archive = backups.archive([], name, context.table, context.moment, left)
        archive = replace(archive, expires_at=expiry(context), made_by=context.session.user)
        if context.dry_run:
            return report(context, archive, "planned")
        copied = _put(context, keeper.carrier, archive, place)
        _let_go(context, here)
    keeper.reap()
    return report(context, copied, "done")


def _not_in(here: list[Backup], away: list[Backup]) -> list[Backup]:
    """Archived rows that copies do not hold yet."""
    moved = {s.id for b in away for s in b.segments}
    return [b for b in here if not {s.id for s in b.segments} <= moved]


def _let_go(context: JobContext, found: list[Backup]) -> None:
    """Forget archives that lie elsewhere now."""
    with context.session.journal.exclusive_session() as session:
        for backup in found:
            rows_of.drop_backup(session, context.table.id, backup.name)
        session.commit()


def move_archive(context: JobContext, keeper: Keeper, place: str) -> Backup | None:
    """Move what is archived here to a place, as a copy of its own; None if there is nothing to do.

    Nothing is moved while rows of the table are being erased: a later run does it.
    """
    journal, table = context.session.journal, context.table
    target, copied = outside(None, place), None
    with keeper.carrier.turn(table):
        if context.hides_rows():
            return None
        here = _archived_here(context)
        if not here:
            return None
        # One that was killed before the archived rows were let go has moved them all the same.
        known = [b for b in backup_transport.whole(journal, table.id) if b.is_archive]
        away = [*known, *(copies.read(b.place or "")[0] for b in known)]
        if left := _not_in(here, away):
            name = f"archive-{context.job_id}"
            archive = backups.archive([], name, table, context.moment, left)
            archive = replace(archive, made_by=context.session.user)
            copied = _put(context, keeper.carrier, archive, target)
        _let_go(context, here)
    keeper.reap()
    return copied


@contextmanager
def named(context: JobContext, carrier: BackupTransport) -> Iterator[Backup | None]:
    """What a restore names that lies elsewhere or is archived, brought here; None for others."""
    source, name = context.text("from"), context.text("backup")
    found = _loaded(context)
    with ExitStack() as stack:

        def bring(backup: Backup) -> Backup:
            check_searched(eraser_of(context.session).journal, backup)
            given = (carrier, backup, context.table, context.progress)
            return stack.enter_context(backup_transport.brought(*given))

        asked = next((b for b in found if b.name == name), None)
        if source is not None:
            yield bring(restoring.found_elsewhere(context, source, carrier.kind))
        elif asked is not None and asked.place is not None:
            yield bring(asked)
        elif asked is None and name == ARCHIVE:
            here = [b for b in found if b.kind is BackupKind.ARCHIVE]
            away = [bring(b) for b in found if b.place is not None and b.is_archive]
            yield backups.archive([], ARCHIVE, context.table, context.moment, [*here, *away])
        else:
            yield None


def verify(context: JobContext, carrier: BackupTransport) -> None:
    """Fetch every copy of the table's backups, and check each of its files."""
    for backup in backup_transport.known(context.session.journal, context.table.id):
        backup_transport.check(backup, context.progress)
        context.log(f"{backup.name}: {counted(len(backup.paths), 'file')} checked, whole")


def expire(context: JobContext, carrier: BackupTransport) -> list[str]:
    """Remove copies past their time, and what is left of those that never came to be; their names.

    Left to the next run while somebody else works on copies of the table.
    """
    journal, table_id = context.session.journal, context.table.id
    over = [
        b
        for b in backup_transport.known(journal, table_id)
        if b.expires_at is not None and b.expires_at <= context.moment
    ]
    if context.dry_run:
        return [b.name for b in over]
    try:
        with carrier.turn(context.table):
            halves = copies.undo_halves(journal, table_id)
            for backup in over:
                if backup.name not in halves:
                    copies.remove(journal, backup)
    except PalimpsestError as error:
        context.log(f"copies stay until the next run: {error.message}")
        return []
    return list(dict.fromkeys([*(b.name for b in over), *halves]))
