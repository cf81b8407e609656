"""Plans a retention: which files hold expired rows, and what remains.

Counts with the very conditions that executors filter by, so that what is planned is exact; heads
are counted as the segments they would become. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field, replace
from typing import Any

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_to_json
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.records.report import ESTIMATED, ReplacedSegment, Skipped, Volume, volume_of
from journal.sql.relations import union_all
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.warehouse import ROWS_PER_FILE
from journal.transactions.expiry import ENDED, HELD, Expiry, RowsUnderHold
from journal.transactions.orphaned_rows import left_by_date
from spark_compaction.contract import JobPlan, Json
from spark_compaction.programs.concurrent_updates import show_lists
from spark_compaction.programs.expired_files import NONE, FileCounts, by_kind, count_file, rewriting
from spark_compaction.programs.retention_rules import NO_ROW, WHY, details, floor_of, why
from spark_compaction.programs.unsealed import Unsealed

_GUESSED = ("written.files", "written.bytes", "removed.bytes")
"""What is not known before files are written."""


@dataclass(slots=True)
class Planning:
    """One look at a table's segments, and at heads as the segments they would become."""

    journal: Journal
    session: DuckDBSession
    found: Expiry
    segments: Sequence[Segment]
    heads: Sequence[Unsealed] = ()
    skipped: list[Skipped] = field(default_factory=list)
    work: list[dict[str, Any]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    taken: list[ReplacedSegment] = field(default_factory=list)
    guessed: set[str] = field(default_factory=set)
    inputs: list[str] = field(default_factory=list)
    lists: dict[str, str] = field(default_factory=dict)
    gone: RowCounts = NONE
    archived: int = 0
    written_files: int = 0

    def plan(self) -> JobPlan:
        show_lists(self.session, self.journal, self.found)
        self._lists()
        settled = [s for s in self.segments if s.max_version <= self.found.settled]
        for segment in settled:
            self._segment(segment)
        for head in self.heads:
            self._head(head)
        table, gone = self.found.table, self.gone
        kept = self._rows_under_hold()
        left: dict[str, int] = {}
        if gone.total:
            left = left_by_date(self.session, self.journal.state, self.found)
        floor = floor_of(self.found, self._ask)
        read = volume_of(self.taken)
        left_rows = read.rows - gone.total
        size = read.bytes * left_rows // read.rows if read.rows else 0
        return JobPlan(
            "retain",
            table.id,
            str(table.name),
            0,
            is_empty=not gone.total,
            why=why(kept, gone.total, left),
            taken=tuple(self.taken),
            written=Volume(self.written_files, left_rows, size),
            inexact=dict.fromkeys([*_GUESSED, *sorted(self.guessed)], ESTIMATED),
            inputs=tuple(self.inputs),
            folders=tuple(self.folders) if self.work else (),
            skipped=tuple(self.skipped),
            task={"segments": self.work, "lists": self.lists},
            details=details(self.found, floor, self.archived, kept, gone, left),
        )

    def _rows_under_hold(self) -> RowsUnderHold:
        """The rows past their time that holds keep, heads included."""
        manifest = self.journal.state.tables[self.found.table.id].manifest
        written = layout.written_rows(self.found.table, manifest, self.journal.root)
        if not written:
            return RowsUnderHold()
        return self.found.rows_under_hold(union_all(written), self._ask)

    def _ask(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return self.session.arrow_rows(self.session.arrow(Query(query, ()), {}))

    def _lists(self) -> None:
        """Files for what the executors must look up."""
        wanted = [ENDED] if self.found.looks_at_history else []
        wanted += [HELD] if self.found.holding else []
        if wanted:
            folder = self.journal.warehouse.new_folder(self.found.table)
            self.folders.append(folder)
            self.lists = {name: f"{folder}/{name}.parquet" for name in wanted}

    def _segment(self, segment: Segment) -> None:
        shape = next(
            t
            for t in self.journal.state.tables[self.found.table.id].layouts
            if layout.fields_of(t) == segment.fields
        )
        counts: dict[str, FileCounts] = {}
        for file in segment.files:
            found = count_file(self.session, self.found, replace(segment, files=(file,)))
            if found.gone.total:
                counts[file.path] = found
        if not counts:
            self.skipped.append(Skipped(segment.id, len(segment.files), NO_ROW))
            return
        keep = [f.path for f in segment.files if f.path not in counts]
        if keep:
            self.skipped.append(Skipped(segment.id, len(keep), NO_ROW))
        touched = sum((c.total for c in counts.values()), RowCounts())
        archive: dict[str, Json] = {}
        rewrite: list[str] = []
        for path, one in counts.items():
            if self.found.archives and one.dated.total:
                whole = one.dated.total == one.total.total
                if whole:
                    archive[path] = asdict(one.total)
                    continue
                rewrite.append(path)
            elif one.gone.total < one.total.total:
                rewrite.append(path)
        gone = sum((c.gone for c in counts.values()), RowCounts())
        self.work.append(
            {
                "segment": segment.to_json(),
                "keep": keep,
                "kept": asdict(segment.counts + touched.times(-1)),
                "gone": asdict(gone),
                "archive": archive,
                "units": self._units(segment, shape, [(p, counts[p]) for p in rewrite]),
            }
        )
        self.gone = self.gone + gone
        files = [f for f in segment.files if f.path in counts]
        self.inputs += [f.path for f in files]
        self.archived += sum(c.dated.total for c in counts.values())
        self._take(segment, files, gone.total)

    def _units(
        self, segment: Segment, shape: Table, files: list[tuple[str, FileCounts]]
    ) -> list[dict[str, Json]]:
        paths = [p for p, _ in files]
        stays = sum((c.total + c.gone.times(-1) for _, c in files), RowCounts())
        dated = sum((c.dated for _, c in files), RowCounts())
        units = []
        if stays.total:
            units.append(self._unit(segment, shape, paths, stays, archive=False))
            self.written_files += max(1, round(stays.total / ROWS_PER_FILE))
        if self.found.archives and dated.total:
            units.append(self._unit(segment, shape, paths, dated, archive=True))
        return units

    def _unit(
        self, segment: Segment, shape: Table, paths: list[str], counts: RowCounts, *, archive: bool
    ) -> dict[str, Json]:
        folder = self.journal.warehouse.new_folder(shape)
        self.folders.append(folder)
        return {
            "id": folder.rpartition("/")[2],
            "folder": folder,
            "archive": archive,
            "counts": asdict(counts),
            "root": str(self.journal.root),
            "table": change_to_json(PutRelation(shape)),
            "sql": rewriting(
                self.found, shape, segment.fields, paths, self.journal.root, archive=archive
            ),
            "lists": {n: str(self.journal.root / p) for n, p in self.lists.items()},
        }

    def _take(self, segment: Segment, files: Sequence[SegmentFile], gone: int) -> None:
        rows, size = sum(f.rows for f in files), sum(f.bytes for f in files)
        self.taken.append(ReplacedSegment(segment.id, len(files), rows, size, WHY.format(gone)))

    def _head(self, head: Unsealed) -> None:
        """What would go of heads once they are sealed; a run has sealed them."""
        rows = head.rows(self.found.table)
        gone = by_kind(self.session, self.found, rows, self.found.goes("r"))
        if not gone.total:
            files = len(head.segment.files)
            self.skipped.append(Skipped(head.segment.id, files, NO_ROW))
            return
        self.gone = self.gone + gone
        if (dated := self.found.archived("r")) is not None:
            self.archived += by_kind(self.session, self.found, rows, dated).total
        self._take(head.segment, head.segment.files, gone.total)
        self.written_files += gone.total < head.segment.counts.total
        self.guessed.add("read.bytes")
        if not head.is_one_file:
            # Those of its files that hold no such row would not be read.
            self.guessed |= {"read.files", "read.rows", "written.rows", "removed.files"}
