"""The upkeep of a Hive store: checks on request, and no background work.

A check holds partitions against the manifest, and rows against the rules.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.stores.hive import backup_segments, layout, segment_check
from journal.stores.hive.inlining import flush, flush_all
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.statement import HiveStatement
from journal.transactions import verification
from journal.transactions.state import TableState
from journal.transactions.verification import Found, miscounted, miscounted_backup


class HiveUpkeep:
    """Every commit is a segment of its own, but for those whose rows the catalog holds."""

    def __init__(self, journal: HiveJournal) -> None:
        self._journal = journal

    def request(self, table_id: int, rows_max: int) -> None:
        """Nothing: there are no heads."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Flush inlined rows; the views say what is committed when this returns."""
        made = flush(self._journal, table_id)
        if self._journal.views is not None:
            _, state = self._journal.read_committed()
            self._journal.views.refresh(state)
        return tuple(made)

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check partitions and rows; nothing is repaired."""
        return verify(self._journal, progress, only)

    def close(self) -> None:
        """Nothing runs in the background."""


def verify(
    journal: HiveJournal,
    progress: Progress | None = None,
    only: Collection[int] | None = None,
) -> Verification:
    """Check every journal, or ``only`` those of the tables of these ids; nothing is repaired.

    Rows that the catalog holds are flushed before, so that they are counted as well.
    """
    flush_all(journal, only)
    return verification.verify(journal, partial(_pieces, journal), progress, only)


def _pieces(
    journal: HiveJournal,
    statement: HiveStatement,
    table: Table,
    state: TableState,
    report: Verification,
    advance: Progress,
) -> Found:
    """Segments, those that only backups list, and lists of keys."""
    names, connection = journal.names, statement.session.connection
    segments = state.manifest.segments
    kept = backup_segments.backup_only_segments(statement.session, table, state)
    report.segments += len(segments) + len(kept)
    report.files += len(segments) + len(kept)
    segment_check.refresh(names, connection, segments)
    counted = segment_check.counted(names, connection, table, segments)
    for segment in segments:
        rows = counted.get(segment.id, RowCounts())
        report.rows += rows.total
        yield from miscounted(segment.id, rows, segment.counts)
    advance(0.5)
    for segment in kept:
        path = segment.files[0].path
        total = segment_check.count_rows(names, connection, table, path).total
        yield from miscounted_backup(segment.id, total, segment.counts.total)
    for mask in state.manifest.key_lists:
        keys = layout.masked_keys(names, table, [mask]).limit(1)
        if not connection.run(keys):
            yield "mask", f"the list of hidden keys {mask} is empty"
