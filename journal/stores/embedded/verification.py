"""Verifies a warehouse: files, manifests, rows, and the rules of journals."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field

from journal.local_engine import layout
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.records import backups, retired
from journal.sql.counting import count_rows
from journal.stores.embedded.integrity import SegmentChecker
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.statement import Statement
from journal.transactions import verification
from journal.transactions.state import TableState
from journal.transactions.verification import Found, miscounted


def verify(
    journal: Journal, progress: Progress | None = None, only: Collection[int] | None = None
) -> Verification:
    """Check everything, or ``only`` the tables of these ids; nothing is repaired.

    ``progress`` is told which part has been read, 0 to 1.
    """
    report = verification.verify(journal, _FileChecks(journal).pieces, progress, only)
    report.unlisted = unlisted_files(journal)
    if progress is not None:
        progress(1.0)
    return report


@dataclass(frozen=True, slots=True)
class _FileChecks:
    """How the files of a journal are looked at."""

    journal: Journal
    seen: set[str] = field(default_factory=set)

    def pieces(
        self,
        statement: Statement,
        table: Table,
        state: TableState,
        report: Verification,
        advance: Progress,
    ) -> Found:
        """Segments, heads, and the files that only backups list."""
        before, total = report.bytes, sum(s.bytes for s in state.manifest.segments)
        for segment in state.manifest.segments:
            report.segments += 1
            damaged = list(self._damaged(segment, report))
            yield from damaged
            if not damaged:
                yield from self._rows(statement, table, state, segment, report)
            if total:
                advance((report.bytes - before) / total)
        yield from self._heads(statement, table, state, report)
        with _backup_files(self.journal, table.id) as files:
            for file in (f for f in files if f.path not in self.seen):
                damage = SegmentChecker(self.journal.root).damage(file)
                if damage is not None:
                    yield "backup", f"{file.path}, which backups list, {damage}"

    def _damaged(self, segment: Segment, report: Verification) -> Found:
        for file in segment.files:
            report.files += 1
            report.bytes += file.bytes
            if file.path in self.seen:
                yield "manifest", f"{file.path} is listed twice"
            self.seen.add(file.path)
            damage = SegmentChecker(self.journal.root).damage(file)
            if damage is not None:
                yield "file", f"{file.path} {damage}"

    def _rows(
        self,
        statement: Statement,
        table: Table,
        state: TableState,
        segment: Segment,
        report: Verification,
    ) -> Found:
        listed = sum(f.rows for f in segment.files)
        if listed != segment.counts.total:
            told = f"segment {segment.id} lists {listed} rows in its files, and"
            yield "manifest", f"{told} {segment.counts.total} by kind"
        shape = next((t for t in state.layouts if layout.fields_of(t) == segment.fields), None)
        if shape is None:
            yield "unreadable", f"segment {segment.id} has the columns of no layout of the table"
            return
        root = self.journal.root

        def counted(files: list[str]) -> RowCounts:
            rows = layout.segment_rows(shape, files, segment.fields, root)
            return count_rows(statement.session, table, rows.subquery("s"))

        try:
            for file in segment.files:
                rows = counted([file.path]).total
                if rows != file.rows:
                    yield "count", f"{rows} rows in {file.path}, the manifest says {file.rows}"
            found = counted([f.path for f in segment.files])
        except PalimpsestError as error:
            yield "unreadable", f"segment {segment.id}: {error.message}"
            return
        report.rows += found.total
        yield from miscounted(f"segment {segment.id}", found, segment.counts)

    def _heads(
        self, statement: Statement, table: Table, state: TableState, report: Verification
    ) -> Found:
        counts = RowCounts()
        for head in state.manifest.heads:
            source = layout.head_table(table.id, head)
            try:
                counts += count_rows(statement.session, table, source)
            except PalimpsestError as error:
                yield "unreadable", f"head {head.generation}: {error.message}"
                return
        report.rows += counts.total
        yield from miscounted("the heads", counts, state.head_counts)


@contextmanager
def _backup_files(journal: Journal, table_id: int) -> Iterator[list[SegmentFile]]:
    """The files that backups and archives of a table list, which stay while the block lasts."""
    with ExitStack() as pins:
        yield _pinned_files(journal, table_id, pins)


def _pinned_files(journal: Journal, table_id: int, pins: ExitStack) -> list[SegmentFile]:
    # Under the lock nobody reaps between looking and pinning.
    with journal.commit_lock, journal.reading_session() as session:
        listed = [s for b in backups.backups_in_store(session, table_id) for s in b.segments]
        there = {f.path for s in journal.state.tables[table_id].manifest.segments for f in s.files}
        for one in retired.load(session, table_id):
            there |= {f.path for f in one.segment.files}
            if one.why.job_kind == retired.ARCHIVE:
                listed.append(one.segment)
        # What a backup of a job lists may be gone, and is forgotten with it.
        files = {f.path: f for s in listed for f in s.files if f.path in there}
        pins.enter_context(journal.pins.hold(files))
    return list(files.values())
