"""Where people may still stand besides live segments: what is kept here, and copies elsewhere.

Retention, compaction and vacuums take rows from the live segments that retired ones, backups and
archives still hold. They are searched when a request is accepted, by the filters that lie beside
them or go along with a copy, so that the keys found are in the request's mask: a purge needs no
identifier. A copy that cannot be searched now is named, and ``late`` searches it when it can be.
Removes only what a killed copy has left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa

from journal.erasure.erasure_spec import FindAmong
from journal.erasure.unreachable_copies import OUT_OF_REACH, Unsearched
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.records.backups import Backup
from journal.stores.embedded import retired_files
from journal.stores.embedded.backup_files import WarehouseTransport
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.contract import silent
from spark_compaction.erasure.locate import Locator, Search, unseen
from spark_compaction.erasure.offsite_search import look_there
from spark_compaction.programs import copied_filters, copies


def search_kept(journal: Journal, locator: Locator) -> None:
    """Search by name what a table keeps in the warehouse besides its live segments."""
    with retired_files.pinned(journal, locator.table.id) as segments:
        locator.kept(segments, journal.checker)


def search_copies(journal: Journal, locator: Locator, *, tidies: bool) -> list[Unsearched]:
    """Search by name the copies of a table's backups; those that cannot be searched now.

    What was killed is finished if it ``tidies``.
    """

    def search(backup: Backup) -> None:
        _search(journal, locator, backup)

    return _each_copy(journal, locator.table, search, tidies=tidies)


def search_copy(journal: Journal, locator: Locator, backup: Backup) -> None:
    """Search one copy by name.

    Raises FILE_ACCESS where it cannot be reached, SEGMENT_DAMAGED where a file is not whole.
    """

    def search(there: Backup) -> None:
        _search(journal, locator, there)

    _look(journal, backup, search, tidies=True)


def _search(journal: Journal, locator: Locator, backup: Backup) -> None:
    def bring(paths: Collection[str]) -> AbstractContextManager[Mapping[str, Path]]:
        transport = WarehouseTransport(journal, locator.table)
        return copies.fetched(transport, backup, paths, silent)

    locator.copied(backup.segments, copied_filters.read(backup), bring)


def rows_kept(journal: Journal, table: Table, find: FindAmong, search: Search) -> list[pa.Table]:
    """The keys of rows that meet a condition in what is kept here and was not searched yet."""
    with retired_files.pinned(journal, table.id) as segments:
        left = [s for s in (unseen(s, search.seen) for s in segments) if s.files]
        journal.checker.check(left)
        for file in {f.path: f for s in left for f in s.files}.values():
            search.seen.add(file.path)
            search.kept.count(file, read=True)
        return [find(left)] if left else []


def rows_copied(
    journal: Journal, table: Table, find: FindAmong, search: Search, *, tidies: bool
) -> tuple[list[pa.Table], list[Unsearched]]:
    """The same in the copies of a table's backups, which are brought here for it, one by one.

    Besides, the copies that cannot be searched now.
    """
    found: list[pa.Table] = []

    def look(backup: Backup) -> None:
        found.append(_rows_there(journal, table, backup, find, search))

    left = _each_copy(journal, table, look, tidies=tidies)
    return found, left


def rows_of_copy(
    journal: Journal, table: Table, backup: Backup, find: FindAmong, search: Search
) -> list[pa.Table]:
    """The same in one copy; raises as ``search_copy``."""
    found: list[pa.Table] = []

    def look(there: Backup) -> None:
        found.append(_rows_there(journal, table, there, find, search))

    _look(journal, backup, look, tidies=True)
    return found


def _rows_there(
    journal: Journal, table: Table, backup: Backup, find: FindAmong, search: Search
) -> pa.Table:
    with copies.brought(WarehouseTransport(journal, table), backup, silent) as here:
        found = find(here.segments)
        for file in (f for s in here.segments for f in s.files):
            search.copies.count(file, read=True)
        return found


def _each_copy(
    journal: Journal, table: Table, action: Callable[[Backup], None], *, tidies: bool
) -> list[Unsearched]:
    """Look at every copy as it lies there; those of which that cannot be done."""
    left = []
    for backup in copies.known(journal, table.id):
        try:
            _look(journal, backup, action, tidies=tidies)
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            left.append(Unsearched(backup, error))
    return left


def _look(
    journal: Journal, backup: Backup, action: Callable[[Backup], None], *, tidies: bool
) -> None:
    """Look at a copy as it lies there; what was killed is finished first if it ``tidies``."""
    if tidies:
        _tidy(journal, backup)
    look_there(backup, action)


def _tidy(journal: Journal, backup: Backup) -> None:
    """Finish or undo what was killed, unless a job is at it just now."""
    try:
        with job_turn(journal, backup.table_id):
            copies.tidy(journal, backup)
    except PalimpsestError as error:
        if error.code is not Code.JOB_BUSY:
            raise
