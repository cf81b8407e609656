"""The swap: lists new segments instead of old ones, or changes nothing and plans again.

Closing rows name open rows by key and version, so new heads and segments written meanwhile need
nothing done: a swap is right as long as everything it removes is still listed as it was planned on.
Retired segments are recorded in the same transaction of the store as the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records import backups, retired
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.sealing import seal
from journal.transactions.state import JournalState, TableState
from spark_compaction.backend import Replan
from spark_compaction.contract import Replacement
from spark_compaction.programs.swapped_manifest import replaced

_NOTHING: Mapping[str, SegmentFile | None] = MappingProxyType({})


Check = Callable[[JournalState], Sequence[Segment]]
"""Called in the commit section before the swap: what is to be listed besides, because of what was
written meanwhile. Raises Replan if its job has become wrong."""


def swap(
    journal: Journal,
    table_id: int,
    replacement: Replacement,
    why: retired.Retirement,
    check: Check | None = None,
    *,
    archived: Sequence[Segment] = (),
    floor: Version = 0,
    moved: Mapping[str, SegmentFile | None] = _NOTHING,
) -> tuple[str, ...]:
    """List ``replacement.added`` instead of ``replacement.removed``; ids of what was retired.

    Raises Replan, with nothing changed, if that is no longer what was planned on.
    """
    with journal.exclusive_session() as session:
        state = journal.state.tables.get(table_id)
        if state is None:
            raise Replan("the table is gone")
        if check is not None:
            late = check(journal.state)
            replacement = replace(replacement, added=(*replacement.added, *late))
        manifest = replaced(state.manifest, replacement)
        manifest = replace(manifest, floor=max(manifest.floor, floor))
        gone = replacement.removed_segments()
        ids = retired.record(session, table_id, manifest.generation, gone, why)
        kept = replace(why, job_kind=retired.ARCHIVE, until=None)
        retired.record(session, table_id, manifest.generation, archived, kept)
        backups.follow(session, moved)

        def swapped(before: TableState) -> TableState:
            return replace(before, manifest=manifest)

        journal.swap(session, table_id, swapped)
    for segment in replacement.added:
        for file in segment.files:
            journal.staged.discard(file.path)
    for segment in replacement.new():
        for file in segment.files:
            journal.checker.trust(file)
    return ids


def settled_version(journal: Journal, table_id: int) -> Version:
    """Seal a table's heads; every row of it up to the version returned stands in a segment."""
    with journal.commit_lock:
        before = journal.state.version
        empty = not journal.state.tables[table_id].head_counts.total
    if empty:
        return before
    # Rows that came in bulk are segments at once, and may be newer than what was in the heads.
    return max([before, *(s.max_version for s in seal(journal, table_id))])
