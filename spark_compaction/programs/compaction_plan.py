"""Plans a compaction: which files it takes, in which units, and why.

Reads key bounds and counts keys, of heads as well: a dry run, which seals nothing, takes them as
the segments that sealing would make. Rows are counted exactly; how many bytes and files come of
them is an estimate until they are written. Writes nothing; what to do when is the planner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.files.filters.sidecar import read_sidecar
from journal.identity.descriptor import filtered_of
from journal.local_engine.layout import fields_of
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_to_json
from journal.model.lazy_dataclass import dataclass
from journal.model.limits import Slo
from journal.model.plan import PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile, Tier
from journal.records.report import ESTIMATED, ReplacedSegment, Skipped, Volume, volume_of
from journal.sql.relations import column, union_all
from journal.stores.embedded.journal import Journal
from journal.transactions.state import TableState
from spark_compaction import planner
from spark_compaction.contract import JobPlan, Json
from spark_compaction.planner import BaseFile, Stretch
from spark_compaction.programs.key_ranges import KeyColumn, KeyPlaces, reaches, read_files
from spark_compaction.programs.unsealed import Unsealed

if TYPE_CHECKING:
    from spark_compaction.programs.compaction import CompactJob

_Source = tuple[int, SegmentFile, bool]
"""A file, with the layout it is in, and whether it holds changes."""


@dataclass(slots=True)
class CompactionDraft:
    """A plan in the making; ``heads`` are among what counts as ``sealed``."""

    job: CompactJob
    journal: Journal
    session: DuckDBSession
    state: TableState
    sealed: Sequence[Segment]
    heads: Sequence[Unsealed] = ()
    keys: KeyColumn | None = field(init=False)
    units: list[dict[str, Json]] = field(default_factory=list)
    taken: dict[str, list[SegmentFile]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    pairs: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        heads = {u.segment.files[0].path: u.rows() for u in self.heads}
        newest = self.state.layouts[-1]
        self.keys = KeyColumn.of(self.session, self.journal.root, newest, heads)

    def major(self) -> None:
        """Work all changes into the base; rewrite of it what they touch."""
        deltas = [s for s in self.sealed if s.tier is Tier.DELTA]
        bases = [s for s in self.sealed if s.tier is Tier.BASE]
        stretches, places = self._stretches(bases, deltas)
        groups = planner.rewrite_groups(stretches, self._rows_target(), self.job.small_files_min)
        nexts = {id(a): b.low for a, b in pairwise(stretches)}
        for group in groups:
            low = places.text(group[0].low)
            high = places.text(nexts.get(id(group[-1])))
            pieces = [p for s in group for p in s.pieces]
            changes = sum(s.changes for s in group)
            if pieces or changes:
                self._range(pieces, deltas, low, high, changes)
        for segment in deltas:
            self._take(segment, segment.files, planner.TAKEN[Tier.DELTA])
        self._skip(bases, "no change lies among its keys")
        history = [s for s in self.sealed if s.tier is Tier.HISTORY]
        if len(history) > self.job.history_segments_max:
            self._merge(history, Tier.HISTORY, planner.MERGED_HISTORY)
        self._skip(history, planner.KEPT_HISTORY)

    def minor(self) -> None:
        """Merge small segments: changes with changes, inserts with inserts."""
        slo = self.job.slo or Slo.of(self.state.layouts[-1])
        for tier in (Tier.DELTA, Tier.BASE):
            small = [s for s in self.sealed if s.tier is tier and planner.is_small(s, slo)]
            if len(small) > 1:
                self._merge(small, tier, planner.SMALL)
        self._skip(self.sealed, planner.NOT_SMALL)

    def _stretches(
        self, bases: Sequence[Segment], deltas: Sequence[Segment]
    ) -> tuple[list[Stretch], KeyPlaces]:
        files = [f for s in (*bases, *deltas) for f in s.files]
        table = self.state.layouts[-1]
        places = KeyPlaces({}, {}) if self.keys is None else self.keys.places(table, files)
        unfiltered = self._unfiltered(bases)
        pieces = [
            BaseFile(s.id, f, self._layout(s), *places.of.get(f.path, (0, 0)), f.path in unfiltered)
            for s in bases
            for f in s.files
        ]
        changed = [f.path for s in deltas for f in s.files]
        cuts = [places.of[p][0] for p in changed if p in places.of]
        found = planner.stretches(pieces, cuts if pieces else ())
        if self.keys is None:
            return [replace(s, changes=_rows(deltas)) for s in found], places
        lows = [places.text(s.low) for s in found[1:]]
        counts = self.keys.count(changed, [t for t in lows if t is not None])
        return [replace(s, changes=n) for s, n in zip(found, counts, strict=True)], places

    def _unfiltered(self, bases: Sequence[Segment]) -> set[str]:
        """The files that lack filters of an index; in earlier layouts nobody asks for them."""
        newest = self.state.layouts[-1]
        names = {entry.id for entry in filtered_of(newest) if entry.is_of_index}
        found: set[str] = set()
        if not names:
            return found
        for segment in bases:
            if self._layout(segment) == newest.layout:
                folder = FilePath(segment.files[0].path).parent
                there = read_sidecar(self.journal.root / folder, names)
                found |= {
                    file.path
                    for file in segment.files
                    if names - there.get(FilePath(file.path).name, {}).keys()
                }
        return found

    def _range(
        self,
        pieces: Sequence[BaseFile],
        deltas: Sequence[Segment],
        low: str | None,
        high: str | None,
        changes: int,
    ) -> None:
        """One unit for a range of keys, or several where it holds many rows."""
        why = "changes lie among its keys" if changes else "its files are small, or overlap"
        if not changes and any(piece.lacks_filters for piece in pieces):
            why = "it has no filters of an index yet"
        by_id = {s.id: s for s in self.sealed}
        for piece in pieces:
            self._take(by_id[piece.segment], [piece.file], why)
        sources = [(p.layout, p.file, False) for p in pieces]
        sources += [(self._layout(s), f, True) for s in deltas for f in s.files]
        rows = sum(p.file.rows for p in pieces) + changes
        used = [s for s in sources if changes or not s[2]]
        self._cut(used, rows, low, high, minor=False, tier=Tier.BASE)

    def _take(self, segment: Segment, files: Iterable[SegmentFile], why: str) -> None:
        self.taken.setdefault(segment.id, []).extend(files)
        self.why.setdefault(segment.id, why)

    def _merge(self, segments: Sequence[Segment], tier: Tier, why: str) -> None:
        for segment in segments:
            self._take(segment, segment.files, why)
        if tier is Tier.DELTA:
            self.pairs = self._pairs(segments)
        sources = [(self._layout(s), f, tier is Tier.DELTA) for s in segments for f in s.files]
        rows = sum(s.counts.total for s in segments)
        self._cut(sources, rows, None, None, minor=tier is Tier.DELTA, tier=tier)

    def _cut(
        self,
        sources: Sequence[_Source],
        rows: int,
        low: str | None,
        high: str | None,
        *,
        minor: bool,
        tier: Tier,
    ) -> None:
        """One unit, or several where there are many rows."""
        target = self._rows_target()
        ends = [low, high]
        if self.keys is not None and rows > 2 * target:
            paths = [file.path for _, file, _ in sources]
            ends = [low, *self.keys.cuts(paths, low, high, -(-rows // target)), high]
        for first, last in pairwise(ends):
            if first is None or first != last:
                self._unit(sources, first, last, minor=minor, tier=tier)

    def _unit(
        self,
        sources: Sequence[_Source],
        low: str | None,
        high: str | None,
        *,
        minor: bool,
        tier: Tier,
    ) -> None:
        # Of a union that has an empty part DuckDB does not know which columns have no NULL.
        newest = self.state.layouts[-1]
        sources = [s for s in sources if reaches(newest, s[1], low, high)] or sources
        layouts = list(dict.fromkeys(layout for layout, _, _ in sources))
        tables = [self._table(layout) for layout in layouts]
        folders = {}
        for place, table in enumerate(tables):
            for written in (tier, Tier.HISTORY):
                folder = self.journal.warehouse.new_folder(table)
                folders[f"{written.value}:{place}"] = folder
        self.folders += folders.values()
        grouped: dict[tuple[int, bool], list[str]] = {}
        for layout, file, of_changes in sources:
            grouped.setdefault((layouts.index(layout), of_changes), []).append(file.path)
        self.units.append(
            {
                "root": str(self.journal.root),
                "tables": [change_to_json(PutRelation(t)) for t in tables],
                "layouts": layouts,
                "minor": minor,
                "tier": tier.value,
                "low": low,
                "high": high,
                "rows_per_file": self._rows_target(),
                "folders": folders,
                "sources": [
                    {"layout": place, "changes": of_changes, "files": files}
                    for (place, of_changes), files in grouped.items()
                ],
                "settings": dict(self.job.settings),
            }
        )

    def _pairs(self, segments: Sequence[Segment]) -> int:
        """How many open rows of some segments have their closing rows among them as well."""
        table = self.state.layouts[-1]
        start, end = table.format.version_column, table.format.subsequent_column
        row = [*table.key, start]
        heads = {u.segment.files[0].path: u.rows() for u in self.heads}
        names = [column(n) for n in (*row, end)]
        parts: list[exp.Query] = [
            exp.select(*names).from_(rows.subquery("h"))
            for path, rows in heads.items()
            if any(f.path == path for s in segments for f in s.files)
        ]
        # Files of different layouts may have keys of different types.
        for segment in segments:
            if files := [f.path for f in segment.files if f.path not in heads]:
                parts.append(exp.select(*names).from_(read_files(self.journal.root, files)))
        rows = union_all(parts)
        opens = exp.select("*").from_(rows.subquery("r"))
        opens = opens.where(exp.Is(this=column(end), expression=exp.Null()))
        closings = exp.select("*").from_(rows.copy().subquery("r"))
        closings = closings.where(exp.GT(this=column(end), expression=column(start)))
        same = [exp.EQ(this=column(n, "c"), expression=column(n, "o")) for n in row]
        found = exp.select(exp.Count(this=exp.Star())).from_(closings.subquery("c"))
        found = found.join(opens.subquery("o"), on=exp.and_(*same), join_type="semi")
        (count,) = self.session.row(Query(found, ()), {})
        return int(count)

    def _skip(self, segments: Iterable[Segment], why: str) -> None:
        for segment in segments:
            left = len(segment.files) - len(self.taken.get(segment.id, ()))
            if left:
                self.skipped.append(Skipped(segment.id, left, why))

    def _rows_target(self) -> int:
        size, rows = sum(s.bytes for s in self.sealed), sum(s.counts.total for s in self.sealed)
        each = max(1, size // max(1, rows))
        return max(1, min(self.job.rows_max, self.job.target_bytes // each))

    def _layout(self, segment: Segment) -> int:
        shape = next(t for t in self.state.layouts if fields_of(t) == segment.fields)
        return shape.layout

    def _table(self, layout: int) -> Table:
        return next(t for t in self.state.layouts if t.layout == layout)

    def finish(self, why: str, mode: str) -> JobPlan:
        """The plan."""
        by_id = {s.id: s for s in self.sealed}
        opens = sum(by_id[i].counts.open for i in self.taken if by_id[i].tier is Tier.DELTA)
        opens += sum(by_id[i].counts.total for i in self.taken if by_id[i].tier is Tier.HISTORY)
        opens += sum(
            f.rows for i, files in self.taken.items() if by_id[i].tier is Tier.BASE for f in files
        )
        removed = [by_id[i] for i in self.taken]
        reduced = []
        for segment in removed:
            gone = {f.path for f in self.taken[segment.id]}
            kept = tuple(f for f in segment.files if f.path not in gone)
            if kept:
                counts = RowCounts(open=sum(f.rows for f in kept))
                reduced.append(replace(segment, files=kept, counts=counts))
        taken = self._replaced_segments() if self.units else ()
        read = volume_of(taken)
        # Each open row stays: in the base, or in history with its end.
        rows = opens if mode == "major" else read.rows - self.pairs
        written = self._estimated(read, rows)
        sealed = replace(self.state.manifest, segments=tuple(self.sealed))
        return JobPlan(
            "compact",
            self.state.layouts[-1].id,
            str(self.state.layouts[-1].name),
            self.state.manifest.generation,
            is_empty=not self.units,
            why=why if self.units else planner.NOTHING_TO_REWRITE,
            taken=taken,
            written=written,
            inexact=self._inexact(),
            inputs=tuple(f.path for files in self.taken.values() for f in files),
            folders=tuple(self.folders),
            skipped=tuple(self.skipped),
            task={
                "units": self.units,
                "removed": [s.to_json() for s in removed],
                "reduced": [s.to_json() for s in reduced],
                "open_rows": opens,
            },
            details=planner.details(mode, sealed),
        )

    def _replaced_segments(self) -> tuple[ReplacedSegment, ...]:
        return tuple(
            ReplacedSegment(
                i, len(files), sum(f.rows for f in files), sum(f.bytes for f in files), why
            )
            for (i, files), why in zip(self.taken.items(), self.why.values(), strict=True)
        )

    def _estimated(self, read: Volume, rows: int) -> Volume:
        """What will be written: so many rows, as many bytes each as now, a file or two a unit."""
        if not rows:
            return Volume()
        ended = sum(Tier.HISTORY.value in f for u in self.units for f in u["folders"])
        files = len(self.units) + (ended if rows < read.rows else 0)
        return Volume(files, rows, read.bytes * rows // read.rows)

    def _inexact(self) -> dict[str, str]:
        names = ["written.files", "written.bytes", "removed.bytes"]
        heads = [u for u in self.heads if u.segment.id in self.taken]
        if heads:
            names.append("read.bytes")
        if not all(u.is_one_file for u in heads):
            names += ["read.files", "removed.files"]
        return dict.fromkeys(names, ESTIMATED)


def empty(state: TableState, sealed: Sequence[Segment], why: str) -> JobPlan:
    """A plan to do nothing."""
    table = state.layouts[-1]
    return JobPlan(
        "compact",
        table.id,
        str(table.name),
        state.manifest.generation,
        is_empty=True,
        why=why,
        details=planner.details("auto", replace(state.manifest, segments=tuple(sealed))),
    )


def _rows(segments: Iterable[Segment]) -> int:
    return sum(s.counts.total for s in segments)
