"""Files of retired segments: kept for who reads them, removed when their grace has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records import backups
from journal.records.retired import Reaped, RetiredSegment, forget, is_over, kept, load, paths
from journal.stores.embedded.journal import Journal


@contextmanager
def pinned(journal: Journal, table_id: int) -> Iterator[tuple[Segment, ...]]:
    """The segments that anybody may ask back; their files stay for as long as the block lasts."""
    with ExitStack() as pins:
        # Under the lock nobody reaps between looking and pinning.
        with journal.commit_lock, journal.reading_session() as session:
            found = tuple(r.segment for r in kept(session, table_id))
            pins.enter_context(journal.pins.hold([f.path for s in found for f in s.files]))
        yield found


def reap(
    journal: Journal,
    now: Version,
    table_id: int | None = None,
    chosen: Callable[[RetiredSegment], bool] | None = None,
) -> Reaped:
    """Remove retired segments whose grace has ended, or those ``chosen``; what is in use stays."""
    removed: list[SegmentFile] = []
    in_use: list[str] = []
    free: list[str] = []
    with journal.exclusive_session() as session:
        found = load(session, table_id)
        due = [r for r in found if (chosen(r) if chosen is not None else is_over(r, now))]
        read = journal.paths_in_use() | backups.pinned_paths(session)
        live = _live_paths(journal)
        for one in due:
            named = {f.path for f in one.segment.files}
            (in_use if named & read else free).append(one.id)
        forget(session, free)
        session.commit()
        still = paths(session)
        for one in due:
            for file in one.segment.files:
                if one.id in free and file.path not in live and file.path not in still:
                    removed.append(file)
        journal.warehouse.remove_files(removed)
    size = sum(file.bytes for file in removed)
    return Reaped(tuple(file.path for file in removed), size, tuple(in_use))


def _live_paths(journal: Journal) -> set[str]:
    states = journal.state.tables.values()
    return {f.path for t in states for s in t.manifest.segments for f in s.files}
