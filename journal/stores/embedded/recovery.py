"""Removes, at opening, what an interrupted process left behind.

The store itself replays its log, so what is committed is there and nothing else. What may be left
are segment files that no manifest lists; they were never visible and are removed. Heads of an
interrupted seal are still listed: they are read as before and sealed the next time.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from journal.erasure.deferred_subjects import forget_stale
from journal.erasure.secret import PRIVATE
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import SIDECAR
from journal.model.version import to_datetime
from journal.records import maintenance as duckdb_maintenance
from journal.records import retired
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.scratch_folders import sweep


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery removed."""

    orphans: tuple[str, ...]


def recover(journal: Journal) -> Recovered:
    """Remove segment files that are not listed; called before the first statement."""
    with journal.exclusive_session() as session:
        duckdb_maintenance.interrupt_jobs(session, to_datetime(journal.clock.now()))
        session.commit()
    # Executors of an owner that was killed may be at work: first nobody writes any more.
    sweep(journal)
    orphans = unlisted_files(journal)
    files = [journal.root / path for path in orphans]
    for file in files:
        file.unlink(missing_ok=True)
    # Once for each: a load that was killed may leave thousands of files in one.
    for folder in dict.fromkeys(file.parent for file in files):
        _remove_if_empty(folder)
    _remove_remains_of_erasures(journal)
    for folder in journal.root.glob("*/*/*"):
        if folder.is_dir():
            _remove_if_empty(folder)
    return Recovered(tuple(orphans))


def _remove_remains_of_erasures(journal: Journal) -> None:
    """Lists of keys that hide nothing, and a copy of the database that took no place."""
    from journal.erasure.erasure_spec import requests

    listed = {name for t in journal.state.tables.values() for name in t.manifest.key_lists}
    private = journal.root / PRIVATE
    for path in [*private.glob("erasure/*.keys"), *private.glob("dry-*.keys")]:
        if str(path.relative_to(journal.root)) not in listed:
            path.unlink(missing_ok=True)
    forget_stale(journal.root, requests(journal))
    journal.root.joinpath(DATABASE_FILE + ".live").unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    """Remove a segment's folder with its filters, unless it holds anything else."""
    if all(SIDECAR.partition(".")[0] in entry.name for entry in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)


def unlisted_files(journal: Journal) -> list[str]:
    """Segment files on disk that nothing lists: neither live, nor retired, nor staged."""
    listed = {
        file.path
        for state in journal.state.tables.values()
        for segment in state.manifest.segments
        for file in segment.files
    }
    with journal.reading_session() as session:
        listed |= retired.paths(session)
    return [p for p in journal.warehouse.files() if p not in listed and not is_staged(journal, p)]


def is_staged(journal: Journal, path: str) -> bool:
    """True while a transaction or a job of this process may still list a file, or its folder."""
    return not journal.staged.isdisjoint([path, *map(str, Path(path).parents)])
