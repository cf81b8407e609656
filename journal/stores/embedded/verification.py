"""Is a warehouse whole? Files against manifests, manifests against rows, rows against the rules.

``verify`` reads everything and changes nothing. What it finds is a report that says which file,
table or key is wrong; an empty list of problems is the proof that nothing was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from journal.local_engine import layout
from journal.model.errors import PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile
from journal.model.store_session import Progress
from journal.model.verification import Problem, Verification
from journal.stores.embedded.integrity import SegmentChecker
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.statement import Statement
from journal.transactions.orphaned_rows import orphans
from journal.transactions.row_checks import row_checks
from journal.transactions.state import TableState


def verify(
    journal: Journal, progress: Progress | None = None, only: Collection[int] | None = None
) -> Verification:
    """Check everything, or ``only`` the tables of these ids.

    ``progress`` is told which part of the bytes has been read, 0 to 1.
    """
    report = Verification()
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            tables = statement.committed.tables
            states = {i: s for i, s in tables.items() if only is None or i in only}
            total = sum(s.bytes for t in states.values() for s in t.manifest.segments)
            for table_id, state in sorted(states.items()):
                if state.layouts:
                    table = statement.committed.catalog.by_id(table_id) or state.layouts[-1]
                    _Check(journal, statement, table, state, report).run(progress, total)
            _listed_twice(states.values(), report)
            report.unlisted = unlisted_files(journal)
    finally:
        journal.rollback(transaction)
    if progress is not None:
        progress(1.0)
    return report


@dataclass(slots=True)
class _Check:
    """One journal."""

    journal: Journal
    statement: Statement
    table: Table
    state: TableState
    report: Verification

    def run(self, progress: Progress | None, total: int) -> None:
        self.report.tables += 1
        manifest = self.state.manifest
        whole = True
        for segment in manifest.segments:
            whole &= self._segment(segment)
            if progress is not None and total:
                progress(min(1.0, self.report.bytes / total))
        whole &= self._heads(manifest)
        if not whole:
            return
        try:
            for kind, message in row_checks(
                self.statement.session, self.table, self.state, self.statement.committed.version
            ):
                self._problem(kind, message)
            committed = self.statement.committed
            if committed.catalog.by_id(self.table.id) is not None:
                self.report.dangling |= orphans(self.statement.session, committed, self.table)
        except PalimpsestError as error:
            self._problem("unreadable", error.message)

    def _segment(self, segment: Segment) -> bool:
        self.report.segments += 1
        whole = True
        for file in segment.files:
            self.report.files += 1
            self.report.bytes += file.bytes
            damage = SegmentChecker(self.journal.root).damage(file)
            if damage is not None:
                self._problem("file", f"{file.path} {damage}")
                whole = False
        if not whole:
            return False
        return self._counts(segment)

    def _counts(self, segment: Segment) -> bool:
        listed = sum(f.rows for f in segment.files)
        if listed != segment.counts.total:
            self._problem(
                "manifest",
                f"segment {segment.id} lists {listed} rows in its files, and"
                f" {segment.counts.total} by kind",
            )
        try:
            for file in segment.files:
                self._file_rows(segment, file)
            rows = self._rows(segment)
            found = layout.count_rows(self.statement.session, self.table, rows.subquery("s"))
        except (PalimpsestError, StopIteration) as error:
            self._problem("unreadable", f"segment {segment.id}: {error}")
            return False
        self.report.rows += found.total
        if found != segment.counts:
            self._problem(
                "counts", f"segment {segment.id} holds {found}, the manifest says {segment.counts}"
            )
        return True

    def _rows(self, segment: Segment) -> Any:
        files = [f.path for f in segment.files]
        return layout.segment_rows(self._shape(segment), files, segment.fields, self.journal.root)

    def _shape(self, segment: Segment) -> Table:
        """The definition under which a segment was written."""
        return next(t for t in self.state.layouts if layout.fields_of(t) == segment.fields)

    def _file_rows(self, segment: Segment, file: SegmentFile) -> None:
        rows = layout.segment_rows(
            self._shape(segment), [file.path], segment.fields, self.journal.root
        )
        found = layout.count_rows(self.statement.session, self.table, rows.subquery("s"))
        if found.total != file.rows:
            self._problem(
                "counts", f"{file.path} holds {found.total} rows, the manifest says {file.rows}"
            )

    def _heads(self, manifest: Manifest) -> bool:
        counts = RowCounts()
        for head in manifest.heads:
            source = layout.head_table(self.table.id, head)
            try:
                counts = counts + layout.count_rows(self.statement.session, self.table, source)
            except PalimpsestError as error:
                self._problem("head", f"head {head.generation}: {error.message}")
                return False
        self.report.rows += counts.total
        if counts != self.state.head_counts:
            self._problem("head", f"heads hold {counts}, expected were {self.state.head_counts}")
        return True

    def _problem(self, kind: str, message: str) -> None:
        self.report.problems.append(Problem(kind, str(self.table.name), message))


def _listed_twice(states: Any, report: Verification) -> None:
    seen: set[str] = set()
    for file in _files(states):
        if file.path in seen:
            report.problems.append(Problem("manifest", "", f"{file.path} is listed twice"))
        seen.add(file.path)


def _files(states: Any) -> Iterator[SegmentFile]:
    for state in states:
        for segment in state.manifest.segments:
            yield from segment.files
