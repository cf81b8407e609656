"""Restores: writes the state of a backup as a new version of the table.

Rows of the backup that are missing come back, changed ones change back, and rows it lacks go: the
difference is written by an ordinary transaction, so keys and constraints hold, nobody's update is
lost, what was erased stays erased, and every earlier state reads as before. What is replaced is
kept as a backup of its own first, the trash. Killed at any moment, all of it happened or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta

from journal.erasure.requests import OPEN, ErasureRequest
from journal.model.copied_rows import moved_from
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.records import backups, erasure_rows
from journal.records.backups import Backup, BackupKind
from journal.records.report import UNKNOWN, JobReport, Volume
from journal.transactions.protocol import OpenJournal
from spark_compaction.programs import copies
from spark_compaction.programs.archives import ARCHIVE
from spark_compaction.programs.backup import forget, record
from spark_compaction.programs.backup_store import BackupRun

_READ_MAX = timedelta(days=1)
"""How long a backup that is being restored is kept if the process ends meanwhile."""


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """Which backup is restored: by ``name``, or from the ``place`` of a copy; else the latest.

    ``trash_expires_at`` is when the backup of what is replaced expires. A write that conflicts with
    others' is tried again ``retries`` times.
    """

    name: str | None
    place: str | None
    trash_expires_at: datetime
    retries: int


def restore(run: BackupRun, given: RestoreOptions, write: Callable[[Backup], int]) -> JobReport:
    """Restore a backup; ``write`` writes the difference to it, and gives how many rows it is.

    Raises BACKUP if there is no such backup, SEGMENT_DAMAGED if it is not whole, and ERASURE for a
    copy that was not searched yet for whom requests erase.
    """
    with _source(run, given) as current:
        trash = None
        if not run.dry_run:
            name = f"trash-{run.job_id}"
            trash = record(run, run.naming(name, BackupKind.TRASH, given.trash_expires_at))
        found, rows = _write(run, given.retries, current, write)
    if trash is not None and not rows:
        # Nothing was replaced; nothing need be kept for it.
        forget(run, trash.name)
        trash = None
    unsized = ["read.bytes"] if found.bytes is None else []
    if rows:
        # They are in the head, or wait in the catalog, and have no size before they are sealed.
        unsized.append("written.bytes")
    return JobReport(
        id=run.job_id,
        kind="restore",
        table=str(run.table.name),
        state=run.state(changes=bool(rows)),
        why="" if rows else "the table is as the backup shows it",
        read=Volume(len(found.paths), found.rows, found.bytes or 0),
        inexact=dict.fromkeys(unsized, UNKNOWN),
        written=Volume(rows=rows),
        details={
            "backup": found.name,
            "version": found.version,
            "trash": None if trash is None else trash.name,
        },
    )


def _write(
    run: BackupRun, retries: int, current: Callable[[], Backup], write: Callable[[Backup], int]
) -> tuple[Backup, int]:
    for attempt in range(retries + 1):
        found = current()
        try:
            return found, write(found)
        except PalimpsestError as error:
            if error.code is not Code.SERIALIZATION or attempt == retries:
                raise
            run.log(f"attempt {attempt + 1}: {error.recorded}")
    raise AssertionError("the loop returns or raises")


@contextmanager
def _source(run: BackupRun, given: RestoreOptions) -> Iterator[Callable[[], Backup]]:
    """What gives the backup as it is now, whole, its pieces in the store while the block lasts."""
    known = run.backups()
    named = next((b for b in known if b.name == given.name), None)
    with ExitStack() as stack:

        def bring(backup: Backup) -> Backup:
            check_searched(run.journal, backup)
            return stack.enter_context(copies.fetched_copy(run.transport, backup, run.progress))

        if given.place is not None:
            brought = bring(_of_such_a_table(run, given.place))
            yield lambda: brought
        elif named is not None and named.place is not None:
            brought = bring(named)
            yield lambda: brought
        elif named is None and given.name == ARCHIVE:
            naming = run.naming(ARCHIVE, BackupKind.ARCHIVE)
            here = run.store.archived()
            away = [bring(b) for b in known if b.place is not None and b.is_archive]
            everything = backups.merged([*here, *away], naming, run.table)
            if here:
                stack.enter_context(_pinned(run, backups.merged(here, naming, run.table)))
            yield lambda: everything
        else:
            table = str(run.table.name)
            if given.name is None or named is None:
                _check_not_earlier(run, given.name)
            chosen = _latest(run, known) if given.name is None else given.name
            backup = backups.backup_named(known, chosen, table)
            stack.enter_context(_pinned(run, backup))
            # An erasure may take rows out of it meanwhile.
            yield lambda: backups.backup_named(run.backups(), chosen, table)


def _check_not_earlier(run: BackupRun, name: str | None) -> None:
    """Raise BACKUP for a backup from before the rows of the table moved to another journal.

    Without a name the last such is meant, if there is no other.
    """
    before = moved_from(run.table)
    if not before or (name is None and run.backups()):
        return
    with run.journal.reading_session() as session:
        named = [b for b in backups.load(session) if name in {None, b.name}]
    found = [b for b in named if b.table_id in before]
    if found:
        last = max(found, key=lambda backup: backup.version)
        raise PalimpsestError(
            Code.BACKUP,
            f'the backup "{last.name}" of {run.table.name} is from before its primary key'
            " changed, when its rows were in another journal",
            advice=f"RESTORE TABLE {run.table.name} TO VERSION AS OF {last.version} brings back the"
            " rows of then",
        )


def _latest(run: BackupRun, known: list[Backup]) -> str:
    """The name of the last known good backup; raises BACKUP if none differs from what is there."""
    pieces = run.store.pieces()
    usable = [b for b in known if b.paths <= pieces.all]
    found = backups.last_known_good(usable, pieces.current)
    if found is None:
        raise PalimpsestError(
            Code.BACKUP,
            f"there is nothing to restore {run.table.name} from: no backup differs from what"
            " is there",
            advice="RESTORE TABLE .. TO TIMESTAMP AS OF .. goes back to any version that is kept",
        )
    return found.name


@contextmanager
def _pinned(run: BackupRun, backup: Backup) -> Iterator[None]:
    """Keep the pieces of a backup, after a check that they are there and whole.

    They are kept by one more backup, which expires if this process ends before it is dropped.
    """
    naming = run.naming(backups.reading(run.job_id), BackupKind.TRASH, run.moment + _READ_MAX)
    pin = naming.backup(run.table, backup.segments, backup.version)
    try:
        with run.store.no_reaping():
            with run.journal.exclusive_session() as session:
                backups.add(session, pin)
                session.commit()
            if not backup.paths <= run.store.pieces().all:
                raise PalimpsestError(
                    Code.BACKUP,
                    f'the backup "{backup.name}" of {run.table.name} is past its time',
                    advice="SELECT * FROM system.backups lists the backups",
                )
        run.store.check(backup)
        yield
    finally:
        forget(run, pin.name)


def _of_such_a_table(run: BackupRun, place: str) -> Backup:
    """The backup that lies in a place; raises BACKUP unless it is of a table like this one."""
    backup, table = copies.read(place)
    copies.refuse_other_stores(backup, run.transport.kind)
    if _shape(run.table) != _shape(table):
        columns = ", ".join(f"{c.name} {c.type}" for c in table.columns)
        raise PalimpsestError(
            Code.BACKUP,
            f"the backup has other columns than {run.table.name}",
            advice=f"restore it into one made with ({columns}) and the same key",
        )
    return backup


def _shape(table: Table) -> tuple[object, ...]:
    return {c.physical: c.type for c in table.stored}, table.key, table.format


def check_searched(journal: OpenJournal, backup: Backup) -> None:
    """Raise ERASURE while somebody who is to be erased was not looked for in a copy."""
    with journal.reading_session() as session:
        requests = [ErasureRequest.of_row(r) for r in erasure_rows.load_erasures(session)]
        known = {(b.table_id, b.name): b.place for b in backups.load(session) if b.place}
    for request in requests:
        places = {known.get((t.table_id, t.copy)) for t in request.unsearched if t.copy}
        if request.state in OPEN and backup.place in places:
            raise PalimpsestError(
                Code.ERASURE,
                f"the gateway has not yet searched {backup.place} for the people of request"
                f" {request.id}",
                advice="run `palimpsest erase run` now that it can be reached, then restore",
            )
