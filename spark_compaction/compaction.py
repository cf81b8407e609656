"""Compaction: what was changed is worked into the base, what was superseded moves to history.

    minor   small segments of changes become one; so do small segments of inserts
    major   all changes are worked in; of the base only files are rewritten whose keys they touch

It plans and swaps in the process that owns the warehouse; the rows go through ``compaction_unit``
on executors, one range of keys each. Rows keep their layout and their stored types. The embedded
store has no user partitions; a range of keys is what is compacted at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from journal.catalog import change_to_json
from journal.errors import Code, PalimpsestError
from journal.jobs.contract import (
    Engine,
    JobPlan,
    Json,
    Progress,
    Replacement,
    Skipped,
    Staged,
    Volume,
)
from journal.journal import Journal
from journal.limits import Slo
from journal.plan import PutRelation
from journal.schema import Table
from journal.segment import RowCounts, Segment, SegmentFile, Tier
from journal.state import TableState
from journal.stores.duckdb_layout import fields_of
from journal.version import Version
from journal.warehouse import ROWS_PER_FILE
from spark_compaction import planner
from spark_compaction.compaction_unit import Sums
from spark_compaction.key_ranges import KeyColumn, Places, reaches
from spark_compaction.planner import Piece, Stretch

UNIT = "spark_compaction.compaction_unit:compact_unit"
MODES = ("auto", "minor", "major")
_Source = tuple[int, SegmentFile, bool]
"""A file, with the layout it is in, and whether it holds changes."""


@dataclass(frozen=True, slots=True)
class CompactJob:
    """A compaction; mode ``auto`` does what the limits ask for, ``slo`` or the table's, or nothing.

    ``target_bytes`` is about the size of a new file, ``small_files_min`` how many small neighbours
    are worth merging without a change, ``settings`` go to the store on executors.
    """

    mode: str = "auto"
    slo: Slo | None = None
    target_bytes: int = 128 << 20
    rows_max: int = ROWS_PER_FILE
    small_files_min: int = 4
    history_segments_max: int = 32
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{self.mode} is no mode of compaction",
                advice="there are " + ", ".join(MODES),
            )

    @property
    def kind(self) -> str:
        """Its name among the kinds of jobs."""
        return "compact"

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """Which files are rewritten, and what stays as it is."""
        state = journal.state.tables[table_id]
        mode, why = self.mode, f"{self.mode} compaction was asked for"
        if mode == "auto":
            slo = self.slo or Slo.of(state.layouts[-1])
            wanted = planner.due(state.manifest, slo, journal.clock.now())
            if wanted is None:
                return _empty(state, "no limit is exceeded")
            mode, why = wanted.mode, wanted.why
        sealed = [s for s in state.manifest.segments if s.max_version <= settled]
        with journal.reading_session() as session:
            keys = KeyColumn.of(session, journal.root, state.layouts[-1])
            draft = _Draft(self, journal, state, sealed, keys)
            if mode == "minor":
                draft.minor()
            else:
                draft.major()
        return draft.finish(why, mode)

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        """Have the units written; what comes back becomes segments."""

        def told(_function: str, done: int, total: int) -> None:
            progress("compact", done, total)

        results = engine.map(UNIT, plan.task["units"], told)
        removed = tuple(Segment.from_json(s) for s in plan.task["removed"])
        reduced = [Segment.from_json(s) for s in plan.task["reduced"]]
        versions = (min(s.min_version for s in removed), max(s.max_version for s in removed))
        shapes = journal.state.tables[plan.table_id].layouts
        by_layout = {t.layout: t for t in shapes}
        new = []
        for unit, result in zip(plan.task["units"], results, strict=True):
            tables = [by_layout[number] for number in unit["layouts"]]
            new += [_segment(journal, tables, w, versions) for w in result["written"]]
        replacement = Replacement(removed, (*reduced, *new))
        before = [Sums.from_json(r["before"]) for r in results]
        after = [Sums.from_json(r["after"]) for r in results]
        details = {
            "units": len(results),
            "before": sum(before, Sums()).to_json(),
            "after": sum(after, Sums()).to_json(),
            "unequal": [n for n, (b, a) in enumerate(zip(before, after, strict=True)) if b != a],
        }
        gone = replacement.gone()
        return Staged(replacement, _volume(new), _volume(gone), details)

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        """Every unit wrote what it had read, and together they read what the manifest lists."""
        if staged.details["unequal"]:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"units {staged.details['unequal']} wrote other rows than they had read",
                advice="nothing was changed; run `palimpsest verify`",
            )
        found = Sums.from_json(staged.details["before"])
        if found.versions != plan.task["open_rows"]:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"{found.versions} row versions were read, the manifest has"
                f" {plan.task['open_rows']}",
                advice="nothing was changed; run `palimpsest verify`",
            )
        checksum = {"versions": str(found.versions_sum), "current": str(found.current_sum)}
        return {"unchanged": checksum}


@dataclass(slots=True)
class _Draft:
    """A plan in the making."""

    job: CompactJob
    journal: Journal
    state: TableState
    sealed: Sequence[Segment]
    keys: KeyColumn | None
    units: list[dict[str, Json]] = field(default_factory=list)
    taken: dict[str, list[SegmentFile]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def major(self) -> None:
        """Work all changes into the base; rewrite of it what they touch."""
        deltas = [s for s in self.sealed if s.tier is Tier.DELTA]
        bases = [s for s in self.sealed if s.tier is Tier.BASE]
        stretches, places = self._stretches(bases, deltas)
        groups = planner.grouped(stretches, self._rows_target(), self.job.small_files_min)
        nexts = {id(a): b.low for a, b in pairwise(stretches)}
        for group in groups:
            low = places.text(group[0].low)
            high = places.text(nexts.get(id(group[-1])))
            pieces = [p for s in group for p in s.pieces]
            changes = sum(s.changes for s in group)
            if pieces or changes:
                self._range(pieces, deltas, low, high, changes)
        for segment in deltas:
            self.taken[segment.id] = list(segment.files)
        self._skip(bases)
        history = [s for s in self.sealed if s.tier is Tier.HISTORY]
        if len(history) > self.job.history_segments_max:
            self._merge(history, tier=Tier.HISTORY)

    def minor(self) -> None:
        """Merge small segments: changes with changes, inserts with inserts."""
        slo = self.job.slo or Slo.of(self.state.layouts[-1])
        for tier in (Tier.DELTA, Tier.BASE):
            small = [s for s in self.sealed if s.tier is tier and s.bytes < slo.small_bytes]
            if len(small) > 1:
                self._merge(small, tier=tier)

    def _stretches(
        self, bases: Sequence[Segment], deltas: Sequence[Segment]
    ) -> tuple[list[Stretch], Places]:
        files = [f for s in (*bases, *deltas) for f in s.files]
        table = self.state.layouts[-1]
        places = Places({}, {}) if self.keys is None else self.keys.places(table, files)
        pieces = [
            Piece(s.id, f, self._layout(s), *places.of.get(f.path, (0, 0)))
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

    def _range(
        self,
        pieces: Sequence[Piece],
        deltas: Sequence[Segment],
        low: str | None,
        high: str | None,
        changes: int,
    ) -> None:
        """One unit for a range of keys, or several where it holds many rows."""
        for piece in pieces:
            self.taken.setdefault(piece.segment, []).append(piece.file)
        sources = [(p.layout, p.file, False) for p in pieces]
        sources += [(self._layout(s), f, True) for s in deltas for f in s.files]
        rows = sum(p.file.rows for p in pieces) + changes
        used = [s for s in sources if changes or not s[2]]
        self._cut(used, rows, low, high, minor=False, tier=Tier.BASE)

    def _merge(self, segments: Sequence[Segment], tier: Tier) -> None:
        for segment in segments:
            self.taken[segment.id] = list(segment.files)
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

    def _skip(self, bases: Iterable[Segment]) -> None:
        for segment in bases:
            left = len(segment.files) - len(self.taken.get(segment.id, ()))
            if left:
                self.skipped.append(Skipped(segment.id, left, "no change lies among its keys"))

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
        removed = [by_id[i] for i in self.taken]
        read = Volume(
            sum(len(files) for files in self.taken.values()),
            sum(f.rows for files in self.taken.values() for f in files),
            sum(f.bytes for files in self.taken.values() for f in files),
        )
        opens = sum(by_id[i].counts.open for i in self.taken if by_id[i].tier is Tier.DELTA)
        opens += sum(by_id[i].counts.total for i in self.taken if by_id[i].tier is Tier.HISTORY)
        opens += sum(
            f.rows for i, files in self.taken.items() if by_id[i].tier is Tier.BASE for f in files
        )
        reduced = []
        for segment in removed:
            gone = {f.path for f in self.taken[segment.id]}
            kept = tuple(f for f in segment.files if f.path not in gone)
            if kept:
                counts = RowCounts(open=sum(f.rows for f in kept))
                reduced.append(replace(segment, files=kept, counts=counts))
        manifest = self.state.manifest
        return JobPlan(
            "compact",
            self.state.layouts[-1].id,
            str(self.state.layouts[-1].name),
            manifest.generation,
            is_empty=not self.units,
            why=why if self.units else "nothing to rewrite",
            read=read,
            inputs=tuple(f.path for files in self.taken.values() for f in files),
            folders=tuple(self.folders),
            skipped=tuple(self.skipped),
            task={
                "units": self.units,
                "removed": [s.to_json() for s in removed],
                "reduced": [s.to_json() for s in reduced],
                "open_rows": opens,
            },
            details={
                "mode": mode,
                "amplification": planner.amplification(manifest, self.state.head_counts),
                "rows_in_heads": self.state.head_counts.total,
            },
        )


def _empty(state: TableState, why: str) -> JobPlan:
    table = state.layouts[-1]
    details = {"amplification": planner.amplification(state.manifest, state.head_counts)}
    return JobPlan(
        "compact",
        table.id,
        str(table.name),
        state.manifest.generation,
        is_empty=True,
        why=why,
        details=details,
    )


def _rows(segments: Iterable[Segment]) -> int:
    return sum(s.counts.total for s in segments)


def _volume(segments: Iterable[Segment]) -> Volume:
    files = [f for s in segments for f in s.files]
    return Volume(len(files), sum(f.rows for f in files), sum(f.bytes for f in files))


def _segment(
    journal: Journal,
    tables: Sequence[Table],
    written: Mapping[str, Json],
    versions: tuple[Version, Version],
) -> Segment:
    files = tuple(SegmentFile(**f) for f in written["files"])
    return Segment(
        journal.warehouse.segment_id(files[0].path),
        Tier(written["tier"]),
        files,
        fields_of(tables[written["layout"]]),
        RowCounts(**written["counts"]),
        *versions,
    )
