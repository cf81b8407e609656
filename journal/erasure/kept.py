"""Where people may still stand besides live segments: what is kept here, and copies elsewhere.

Retention, compaction and vacuums take rows from the live segments that retired ones, backups and
archives still hold. They are searched when a request is accepted, by the filters that lie beside
them or go along with a copy, so that the keys found are in the request's mask: a purge needs no
identifier. A copy that cannot be reached makes the request fail before anything is written, since
nobody could say afterwards whom to look for in it. Removes only what a killed copy has left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from journal.erasure.locate import Locator, Search, unseen
from journal.erasure.wanted import FindAmong
from journal.errors import Code, PalimpsestError
from journal.jobs import backups, copied_filters, copies, retired
from journal.jobs.backups import Backup
from journal.jobs.contract import silent
from journal.jobs.turns import job_turn
from journal.journal import Journal
from journal.schema import Table

_TRIES_MAX = 3
_MOVED = {Code.FILE_ACCESS, Code.SEGMENT_DAMAGED}
"""What reading a copy ends with when its files are replaced meanwhile, among other causes."""


def search_kept(journal: Journal, locator: Locator) -> None:
    """Search by name what a table keeps in the warehouse besides its live segments."""
    with retired.pinned(journal, locator.table.id) as segments:
        locator.kept(segments, journal.checker)


def search_copies(journal: Journal, locator: Locator, *, tidies: bool) -> None:
    """Search by name the copies of a table's backups; what was killed is finished if it ``tidies``.

    Raises FILE_ACCESS where one cannot be reached, SEGMENT_DAMAGED where a file is not whole.
    """
    table = locator.table

    def search(backup: Backup) -> None:
        @contextmanager
        def bring(paths: Collection[str]) -> Iterator[Mapping[str, Path]]:
            with copies.fetched_files(journal, backup, table, paths, silent) as names:
                yield {path: journal.root / name for path, name in names.items()}

        locator.copied(backup.segments, copied_filters.read(backup), bring)

    _each_copy(journal, table, search, tidies=tidies)


def rows_kept(journal: Journal, table: Table, find: FindAmong, search: Search) -> list[pa.Table]:
    """The keys of rows that meet a condition in what is kept here and was not searched yet."""
    with retired.pinned(journal, table.id) as segments:
        left = [s for s in (unseen(s, search.seen) for s in segments) if s.files]
        journal.checker.check(left)
        for file in {f.path: f for s in left for f in s.files}.values():
            search.seen.add(file.path)
            search.kept.count(file, read=True)
        return [find(left)] if left else []


def rows_copied(
    journal: Journal, table: Table, find: FindAmong, search: Search, *, tidies: bool
) -> list[pa.Table]:
    """The same in the copies of a table's backups, which are brought here for it, one by one."""
    found: list[pa.Table] = []

    def look(backup: Backup) -> None:
        with copies.brought(journal, backup, table, silent) as here:
            found.append(find(here.segments))
            for file in (f for s in here.segments for f in s.files):
                search.copies.count(file, read=True)

    _each_copy(journal, table, look, tidies=tidies)
    return found


def _each_copy(
    journal: Journal, table: Table, action: Callable[[Backup], None], *, tidies: bool
) -> None:
    """Look at every copy as it lies there; again if a job has meanwhile replaced files of it.

    One that is being written right now is none yet: its rows are live, or kept here.
    """
    with journal.reading_session() as session:
        known = [b for b in backups.load(session, table.id) if b.place is not None]
    for backup in known:
        assert backup.place is not None
        if tidies:
            _tidy(journal, backup)
        there = copies.there(backup.place)
        for attempt in range(_TRIES_MAX):
            if there is None:
                break
            try:
                action(there)
                break
            except PalimpsestError as error:
                before, there = there, copies.there(backup.place)
                if there == before or attempt + 1 == _TRIES_MAX or error.code not in _MOVED:
                    raise


def _tidy(journal: Journal, backup: Backup) -> None:
    """Finish or undo what was killed, unless a job is at it just now."""
    try:
        with job_turn(journal, backup.table_id):
            copies.tidy(journal, backup)
    except PalimpsestError as error:
        if error.code is not Code.JOB_BUSY:
            raise
