"""Files of retired segments: kept for who reads them, removed when their grace has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records import backups
from journal.records.retired import (
    ARCHIVE,
    Reaped,
    RetiredSegment,
    forget,
    is_over,
    load,
    paths,
    recoverable_segments,
)
from journal.stores.embedded.journal import Journal


@contextmanager
def pinned(journal: Journal, table_id: int) -> Iterator[tuple[Segment, ...]]:
    """The segments that anybody may ask back; their files stay for as long as the block lasts."""
    with ExitStack() as pins:
        # Under the lock nobody reaps between looking and pinning.
        with journal.commit_lock, journal.reading_session() as session:
            found = tuple(r.segment for r in recoverable_segments(session, table_id))
            pins.enter_context(journal.pins.hold([f.path for s in found for f in s.files]))
        yield found


Chosen = Callable[[Sequence[RetiredSegment]], Sequence[RetiredSegment]]
"""Which of the retired segments of a table go, oldest first; archives are not among them."""


def due(
    journal: Journal,
    table_id: int,
    chosen: Chosen | None = None,
    ignored: Collection[str] = (),
) -> Reaped:
    """What ``reap`` would remove if there were no backups of the ``ignored`` names."""
    with journal.reading_session() as session:
        found = load(session, table_id)
        going = _segments_to_remove(found, journal.clock.now(), chosen)
        read = journal.paths_in_use() | backups.pinned_paths(session, frozenset(ignored))
    free = [r for r in going if read.isdisjoint(f.path for f in r.segment.files)]
    left = {f.path for r in found if r not in free for f in r.segment.files}
    files = {f.path: f for r in free for f in r.segment.files}
    return _removal_report(
        [f for p, f in files.items() if p not in left], [r for r in going if r not in free]
    )


def reap(
    journal: Journal,
    now: Version,
    table_id: int | None = None,
    chosen: Chosen | None = None,
) -> Reaped:
    """Remove retired segments whose grace has ended, or those ``chosen``; what is in use stays."""
    with journal.exclusive_session() as session:
        going = _segments_to_remove(load(session, table_id), now, chosen)
        read = journal.paths_in_use() | backups.pinned_paths(session)
        free = [r for r in going if read.isdisjoint(f.path for f in r.segment.files)]
        forget(session, [r.id for r in free])
        listed = _live_paths(journal) | paths(session)
        for one in free:
            gone = {f.path for f in one.segment.files} - listed
            backups.forget_without(session, one.table_id, gone)
        session.commit()
        files = {f.path: f for r in free for f in r.segment.files if f.path not in listed}
        removed = list(files.values())
        journal.warehouse.remove_files(removed)
    return _removal_report(removed, [r for r in going if r not in free])


def _segments_to_remove(
    found: Sequence[RetiredSegment], now: Version, chosen: Chosen | None
) -> Sequence[RetiredSegment]:
    if chosen is None:
        return [r for r in found if is_over(r, now)]
    return chosen([r for r in found if r.why.job_kind != ARCHIVE])


def _removal_report(removed: Sequence[SegmentFile], in_use: Sequence[RetiredSegment]) -> Reaped:
    return Reaped(
        tuple(f.path for f in removed),
        tuple(r.id for r in in_use),
        sum(f.rows for f in removed),
        sum(f.bytes for f in removed),
    )


def _live_paths(journal: Journal) -> set[str]:
    states = journal.state.tables.values()
    return {f.path for t in states for s in t.manifest.segments for f in s.files}
