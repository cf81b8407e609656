"""The last step of an erasure: no byte of it is left in the warehouse.

When the rows are in no segment and no head any more, they may still stand in files that nothing
lists, in the lists of keys, and in free blocks of the database file. All three go at a moment when
no statement runs. Until such a moment comes, requests stay PURGED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from journal.erasure import audit
from journal.erasure.deferred_subjects import forget_stale
from journal.erasure.erasure_spec import requests
from journal.erasure.guard import load_fence
from journal.erasure.requests import ErasureRequest, State
from journal.erasure.secret import PRIVATE
from journal.files.scratch import sweep_scratch
from journal.local_engine.database_file import Reopen
from journal.local_engine.session import DuckDBSession
from journal.records import erasure_rows as rows_of
from journal.records import retired
from journal.stores.embedded import commit as section
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.live_copy import copy_live
from journal.stores.embedded.public import refresh_views
from journal.stores.embedded.recovery import is_staged, unlisted_files
from journal.stores.embedded.scratch_folders import sweep
from journal.transactions.state import TableState

WAIT_S = 5.0


def finish(journal: Journal, by: str, wait_s: float = WAIT_S) -> list[ErasureRequest]:
    """Complete every purged request if nobody reads just now; those that are left wait."""
    with journal.commit_lock:
        found = [r for r in requests(journal) if r.state is State.PURGED]
        if not found:
            tidy(journal, wait_s=0)
            return []
        forget_stale(journal.root, requests(journal))
        retired_files.reap(
            journal,
            journal.clock.now(),
            chosen=lambda found: [r for r in found if r.why.job_kind == retired.PURGE],
        )
        waits = _waits(journal)
        if waits is None:
            files = _leftovers(journal)

            def scrub(file: Path, reopen: Reopen) -> None:
                # Now that nobody writes, every file that a transaction will still need is staged.
                for path in files:
                    if not is_staged(journal, str(path.relative_to(journal.root))):
                        path.unlink(missing_ok=True)
                session = reopen(copy_live)
                _settle_in(journal, session)

            if not journal.store.when_idle(scrub, wait_s):
                waits = "statements that still run or whose rows were not fetched"
        return [_closed(journal, request, by, waits) for request in found]


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


def tidy(journal: Journal, wait_s: float = WAIT_S) -> bool:
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


def _closed(
    journal: Journal, request: ErasureRequest, by: str, waits: str | None
) -> ErasureRequest:
    with journal.exclusive_session() as session:
        now = journal.clock.now()
        if waits is None:
            done = request.moved(State.COMPLETED, now, waits_for="")
            audit.completed(journal, session, done, by)
        else:
            done = replace(request, waits_for=waits)
        rows_of.put_erasure(session, done.to_row())
        session.commit()
    return done


def purged(journal: Journal, found: Sequence[ErasureRequest], by: str) -> list[ErasureRequest]:
    """Take the masks of purged requests away, and record their receipts.

    Gives those that are purged: one that a hold keeps back by now, or whose keys were split anew,
    is left for the next run.
    """
    with journal.exclusive_session() as session:
        now = journal.clock.now()
        rows_of.drop_expired(session, now)
        lists = {
            r.id: [t.lists for t in r.targets]
            for r in requests(journal)
            if r.state is State.ACCEPTED
        }
        found = [r for r in found if lists.get(r.id) == [t.lists for t in r.targets]]
        done = []
        for request in found:
            bare = tuple(replace(t, mask=None) for t in request.targets)
            moved = request.moved(State.PURGED, now, targets=bare)
            rows_of.put_erasure(session, moved.to_row())
            audit.purged(journal, session, moved, by)
            done.append(moved)
        unmask(journal, session, found)
    return done


def cancel(journal: Journal, request: ErasureRequest, by: str) -> ErasureRequest:
    """Let the rows be seen again and written again; possible until they are purged."""
    with journal.exclusive_session() as session:
        current = next(r for r in requests(journal) if r.id == request.id)
        done = current.cancelled(journal.clock.now())
        rows_of.put_erasure(session, done.to_row())
        rows_of.drop_suppressions(session, request.id)
        audit.record(journal, session, by, "erase.cancel", request.id, {})
        unmask(journal, session, [current])
    tidy(journal, wait_s=0)
    return done


def unmask(journal: Journal, session: DuckDBSession, found: Iterable[ErasureRequest]) -> None:
    """Publish manifests without the lists of keys of some requests; commits the session."""
    lists: dict[int, list[str]] = {}
    for target in (t for request in found for t in request.targets):
        lists.setdefault(target.table_id, []).extend(target.lists)

    def bare(gone: list[str]) -> Callable[[TableState], TableState]:
        return lambda state: replace(state, manifest=state.manifest.without_keys(gone))

    changes = {table_id: bare(gone) for table_id, gone in lists.items() if gone}
    journal.swap_all(session, changes, fenced=load_fence(session))
