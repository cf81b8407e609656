"""Searches and purges copies elsewhere, one after another.

Who is in a copy only is found when a request is accepted. A copy that cannot be reached is left out
and named: a search of it waits, and a purge goes on with the others. How rows of a copy are found
and removed is the store's: ``ErasureBackend``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from journal.erasure.erasure_spec import ErasureSpec, TargetTable
from journal.erasure.unreachable_copies import MOVED, OUT_OF_REACH, Unsearched
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.records.backups import Backup
from spark_compaction.erasure.backend import (
    CopiesPurge,
    ErasureBackend,
    PurgeRun,
    Removed,
    fetched_segments,
)
from spark_compaction.erasure.search import Search
from spark_compaction.programs import copies

_TRIES_MAX = 3


def search_copies(
    backend: ErasureBackend,
    aim: TargetTable,
    wanted: ErasureSpec,
    search: Search,
    *,
    tidies: bool,
) -> None:
    """Search all copies of a table's backups; ``search.left`` are those that cannot be now.

    What was killed of one is finished or undone first if it ``tidies``.
    """

    def search_one(listed: Backup) -> None:
        _search_backup(backend, aim, wanted, listed, search)

    search.left += each_copy(backend, aim.table, search_one, tidies=tidies)


def search_copy(
    backend: ErasureBackend, aim: TargetTable, wanted: ErasureSpec, backup: Backup
) -> Search:
    """Search one copy; raises FILE_ACCESS and others where it cannot be searched."""
    search = Search()

    def search_one(listed: Backup) -> None:
        _search_backup(backend, aim, wanted, listed, search)

    _tidy(backend, aim.table, backup)
    _look_there(backup, search_one)
    return search


def _search_backup(
    backend: ErasureBackend,
    aim: TargetTable,
    wanted: ErasureSpec,
    listed: Backup,
    search: Search,
) -> None:
    """Look by the request's condition if it has one, else by identifiers."""
    if not wanted.rows or aim.is_whole:
        backend.search_copy(aim, wanted.subjects, listed, search)
        return
    with fetched_segments(backend, aim.table, listed) as segments:
        search.keys.append(wanted.among[aim.table.id](segments))
    search.count_copy(listed.segments)


def each_copy(
    backend: ErasureBackend, table: Table, action: Callable[[Backup], None], *, tidies: bool
) -> list[Unsearched]:
    """Look at every copy as it lies there; those of which that cannot be done."""
    left = []
    for backup in copies.recorded_copies(backend.journal, table.id):
        try:
            if tidies:
                _tidy(backend, table, backup)
            _look_there(backup, action)
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            left.append(Unsearched(backup, error))
    return left


def _look_there(backup: Backup, action: Callable[[Backup], None]) -> None:
    """Look at a copy as it lies there; again if a job has meanwhile replaced files of it.

    One that is being written right now is none yet: its rows are live, or kept in the store.
    """
    listed = copies.read_copy(backup)
    for attempt in range(_TRIES_MAX):
        if listed is None:
            return
        try:
            action(listed)
            return
        except PalimpsestError as error:
            before, listed = listed, copies.read_copy(backup)
            if listed == before or attempt + 1 == _TRIES_MAX or error.code not in MOVED:
                raise


def _tidy(backend: ErasureBackend, table: Table, backup: Backup) -> None:
    """Finish or undo what was killed, unless a job is at it just now."""
    try:
        with backend.transport(table).lock():
            copies.tidy(backend.journal, backup)
    except PalimpsestError as error:
        if error.code is not Code.JOB_BUSY:
            raise


def purge_copies(
    backend: ErasureBackend, run: PurgeRun, table: Table, masks: Iterable[str]
) -> CopiesPurge:
    """Remove the keys of some masks from every copy of a table's backups that can be reached.

    Raises JOB_BUSY while another job works on copies of the table.
    """
    done = CopiesPurge(dict.fromkeys(masks, Removed()))
    found = copies.recorded_copies(backend.journal, table.id)
    if not found or not done.removed:
        return done
    with backend.transport(table).lock():
        for backup in found:
            try:
                if copies.tidy(backend.journal, backup):
                    assert backup.place is not None
                    listed, definition = copies.read(backup.place)
                    masks = list(done.removed)
                    done.count(*backend.purge_copy(table, listed, definition, masks, run))
                    copies.tidy(backend.journal, backup)
            except PalimpsestError as error:
                if error.code not in OUT_OF_REACH:
                    raise
                done.error = done.error or error
    return done
