"""Removes the last bytes of erased rows from a warehouse, and completes requests.

When the rows are in no segment and no head any more, they may still stand in files that nothing
lists, in the lists of keys, and in free blocks of the database file. All three go at a moment when
no statement runs. Until such a moment comes, requests stay PURGED.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from journal.erasure.deferred_subjects import forget_stale
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest
from journal.erasure.secret import PRIVATE
from journal.local_engine.database_file import Reopen
from journal.local_engine.scratch import sweep_scratch
from journal.local_engine.session import DuckDBSession
from journal.records import retired
from journal.stores.embedded import commit as section
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.live_copy import copy_live
from journal.stores.embedded.public import refresh_views
from journal.stores.embedded.recovery import is_staged, unlisted_files
from journal.stores.embedded.scratch_folders import sweep


def clear_remains(journal: Journal, purged: Sequence[ErasureRequest], wait_s: float) -> str | None:
    """Remove what is left of purged requests if nobody reads just now; else what they wait for."""
    with journal.commit_lock:
        if not purged:
            tidy(journal, wait_s=0)
            return None
        forget_stale(journal.root, requests(journal))
        retired_files.reap(
            journal,
            journal.clock.now(),
            chosen=lambda found: [r for r in found if r.why.job_kind == retired.PURGE],
        )
        waits = _waits(journal)
        if waits is not None:
            return waits
        files = _leftovers(journal)

        def scrub(file: Path, reopen: Reopen) -> None:
            # Now that nobody writes, every file that a transaction will still need is staged.
            for path in files:
                if not is_staged(journal, str(path.relative_to(journal.root))):
                    path.unlink(missing_ok=True)
            session = reopen(copy_live)
            _settle_in(journal, session)

        if not journal.store.when_idle(scrub, wait_s):
            return "statements that still run or whose rows were not fetched"
    return None


def _waits(journal: Journal) -> str | None:
    if left := [*sweep(journal), *sweep_scratch()]:
        return f"{left[0]}, which a killed process left, and which cannot be removed"
    with journal.reading_session() as session:
        kept = [r for r in retired.load(session) if r.why.job_kind == retired.PURGE]
    return f"files of {len(kept)} segments that statements still read" if kept else None


def _leftovers(journal: Journal) -> list[Path]:
    """Files that nothing lists, and lists of keys that hide nothing any more."""
    return [journal.root / path for path in unlisted_files(journal)] + _stale_keys(journal)


def _stale_keys(journal: Journal) -> list[Path]:
    listed = {name for t in journal.state.tables.values() for name in t.manifest.key_lists}
    folder = journal.root / PRIVATE
    found = [*folder.glob("erasure/*.keys"), *folder.glob("dry-*.keys")]
    return [p for p in found if str(p.relative_to(journal.root)) not in listed]


def tidy(journal: Journal, wait_s: float) -> bool:
    """Remove lists of keys that nothing refers to; False if somebody may still read them."""
    with journal.commit_lock:
        forget_stale(journal.root, requests(journal))
    stale = _stale_keys(journal)

    def remove(_file: Path, _reopen: Reopen) -> None:
        for path in stale:
            path.unlink(missing_ok=True)

    return not stale or journal.store.when_idle(remove, wait_s)


def _settle_in(journal: Journal, session: DuckDBSession) -> None:
    state = journal.state
    session.begin()
    section.settle_in(session, state.catalog, state.tables, journal.root)
    session.commit()
    refresh_views(session, state.catalog)
