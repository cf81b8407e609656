"""Compaction of files: merges changes into the base, superseded versions into history.

    minor   small segments of changes become one; so do small segments of inserts
    major   all changes are worked in; of the base only files are rewritten whose keys they touch

It plans and swaps in the process that owns the warehouse; the rows go through ``compaction_unit``
on executors, one range of keys each. Rows keep their layout and their stored types. The embedded
store has no user partitions; a range of keys is what is compacted at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from journal.local_engine.layout import fields_of
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.limits import Slo
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile, Tier
from journal.model.version import Version
from journal.records.report import Volume
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.warehouse import ROWS_PER_FILE
from spark_compaction import planner
from spark_compaction.contract import Engine, JobPlan, Json, Progress, Replacement, Staged
from spark_compaction.limits import HISTORY_PIECES_MAX, SMALL_FILES_MIN
from spark_compaction.programs.compaction_plan import CompactionDraft, empty
from spark_compaction.programs.compaction_unit import Sums
from spark_compaction.programs.unsealed import unsealed, with_unsealed

UNIT = "spark_compaction.programs.compaction_unit:compact_unit"
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
    small_files_min: int = SMALL_FILES_MIN
    history_segments_max: int = HISTORY_PIECES_MAX
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        planner.check_mode(self.mode)

    @property
    def kind(self) -> str:
        """Its name among the kinds of jobs."""
        return "compact"

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """Which files are rewritten, and what stays as it is."""
        state = journal.state.tables[table_id]
        slo = self.slo or Slo.of(state.layouts[-1])
        with journal.reading_session() as session:
            heads = unsealed(session, state, settled)
            there = with_unsealed(state, heads)
            manifest = replace(state.manifest, segments=there)
            wanted = planner.chosen_compaction(self.mode, manifest, slo, journal.clock.now())
            if wanted is None:
                return empty(state, there, planner.WITHIN_LIMITS)
            sealed = [s for s in there if s.max_version <= settled]
            draft = CompactionDraft(self, journal, session, state, sealed, heads)
            if wanted.mode == "minor":
                draft.minor()
            else:
                draft.major()
        return draft.finish(wanted.why, wanted.mode)

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        """Have the units written; what comes back becomes segments."""

        def advance(_function: str, done: int, total: int) -> None:
            progress("compact", done, total)

        results = engine.map(UNIT, plan.task["units"], advance)
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
        return Staged(replacement, _volume(new), details)

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Json]:
        """Every unit wrote what it had read, and together they read what the manifest lists."""
        if staged.details["unequal"]:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"units {staged.details['unequal']} wrote other rows than they read",
                advice="nothing was changed; run `palimpsest verify`",
            )
        found = Sums.from_json(staged.details["before"])
        if found.versions != plan.task["open_rows"]:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"{found.versions} row versions were read, but the manifest lists"
                f" {plan.task['open_rows']}",
                advice="nothing was changed; run `palimpsest verify`",
            )
        checksum = {"versions": str(found.versions_sum), "current": str(found.current_sum)}
        return {"unchanged": checksum}


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
