"""Compaction by set-based SQL, on any store that reads and writes pieces by statements of its own.

    minor   small segments of one kind become one
    major   current rows of all changes and the base become a base, ended ones go to history

Rows keep the columns they were written in, so that every layout of a table is read as before. What
readers see through the old pieces and through the new ones is compared before anything is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.limits import Slo
from journal.model.segment import RowCounts, Segment, Tier
from journal.records.report import ESTIMATED, ReplacedSegment, Skipped, Volume, volume_of
from spark_compaction import planner
from spark_compaction.backend import Piece, SetBasedBackend, TableAt
from spark_compaction.contract import JobPlan, Json, Progress, Replacement, Staged
from spark_compaction.limits import HISTORY_PIECES_MAX
from spark_compaction.programs.journal_rows import as_written, rows_for, what_readers_see
from spark_compaction.programs.table_pieces import each

BYTES = ("read.bytes", "written.bytes", "removed.bytes")
"""What a store does not know exactly, or at all, of its pieces."""


@dataclass(frozen=True, slots=True)
class CompactionInSql:
    """The job for one table; mode ``auto`` does what the table's limits ask for, or nothing."""

    mode: str = "major"

    def __post_init__(self) -> None:
        planner.check_mode(self.mode)

    @property
    def kind(self) -> str:
        """Its name among the kinds of jobs."""
        return "compact"

    @property
    def plans_ahead(self) -> bool:
        """Yes: a plan reads what the catalog has."""
        return True

    def plan(self, backend: SetBasedBackend, at: TableAt) -> JobPlan:
        """Which pieces are taken, and what stays as it is."""
        table, manifest = at.table, at.state.manifest
        nothing = JobPlan(self.kind, table.id, str(table.name), manifest.generation, is_empty=True)
        if at.is_dropped:
            return replace(nothing, why="the table was dropped")
        slo, heads = Slo.of(table), at.state.head_counts
        wanted = planner.chosen_compaction(self.mode, manifest, slo, backend.now(), heads)
        if wanted is None:
            details = planner.details(self.mode, manifest, heads)
            return replace(nothing, why=planner.WITHIN_LIMITS, details=details)
        is_minor = wanted.mode == "minor"
        taken = _small(at, slo) if is_minor else _changed(at)
        details = planner.details(wanted.mode, manifest, heads)
        if not taken:
            return replace(nothing, why=planner.NOTHING_TO_REWRITE, details=details)
        replaced = _replaced(backend, taken, is_minor=is_minor)
        ids = {s.id for p in taken for s in p.segments}
        why = planner.NOT_SMALL if is_minor else planner.KEPT_HISTORY
        inexact = dict.fromkeys(BYTES, backend.sizes)
        return replace(
            nothing,
            is_empty=False,
            why=wanted.why,
            taken=replaced,
            written=_expected_volume(taken, volume_of(replaced), is_minor=is_minor),
            inexact=inexact if is_minor else {**inexact, "written.files": ESTIMATED},
            skipped=tuple(Skipped(s.id, 1, why) for s in at.segments if s.id not in ids),
            task={"pieces": taken, "is_minor": is_minor},
            details=details,
        )

    def stage(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, progress: Progress
    ) -> Staged:
        """Write the rows of the pieces that are taken to new ones."""
        taken: Sequence[Piece] = plan.task["pieces"]
        removed = tuple(s for p in taken for s in p.segments)
        backend.check(at, removed)
        made = (
            _merged(backend, at, taken) if plan.task["is_minor"] else _worked_in(backend, at, taken)
        )
        size = sum(backend.size(s) for s in made)
        written = Volume(len(made), sum(s.counts.total for s in made), size)
        return Staged(Replacement(removed, tuple(made)), written)

    def verify(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Mapping[str, Json]:
        """Current rows and all intervals say the same through old pieces and new ones."""
        assert staged.replacement is not None
        ids = frozenset(s.id for s in at.segments) - {s.id for s in staged.replacement.removed}
        kept = [left for p in at.pieces if (left := p.only(ids)).segments]
        added = each(staged.replacement.added)
        queries = [
            query
            for pieces in (at.pieces, [*kept, *added])
            for query in what_readers_see(backend, at.table, at.state, pieces)
        ]
        found = backend.fingerprints(queries)
        before, after = found[:2], found[2:]
        if before != after:
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"compacting {plan.table} would change its content: {before} became {after}",
                advice="nothing was changed; palimpsest verify tells whether the journal is whole",
            )
        (current, _), (versions, checksum) = before
        return {"current_rows": current, "versions": versions, "checksum": str(checksum)}

    def alongside(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> None:
        """Nothing: rows that others wrote since name those of the new pieces just as well."""


def _changed(at: TableAt) -> list[Piece]:
    """What a major compaction takes, if there is anything to gain: all, but history that is
    short."""
    bases = [s.fields for p in at.pieces if p.tier is Tier.BASE for s in p.segments]
    has_changes = any(p.tier in {Tier.HEAD, Tier.DELTA} for p in at.pieces)
    if not has_changes and len(bases) == len(set(bases)):
        return []
    history = sum(len(p.segments) for p in at.pieces if p.tier is Tier.HISTORY)
    is_long = history > HISTORY_PIECES_MAX
    return [p for p in at.pieces if is_long or p.tier is not Tier.HISTORY]


def _small(at: TableAt, slo: Slo) -> list[Piece]:
    """What a minor compaction takes: small segments that are not the only ones of their kind."""
    small = [
        piece.only(frozenset(s.id for s in piece.segments if planner.is_small(s, slo)))
        for piece in at.pieces
        if piece.tier is not Tier.HISTORY
    ]
    return [
        piece
        for group in _groups(small)
        if sum(len(p.segments) for p in group) > 1
        for piece in group
        if piece.segments
    ]


def _groups(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces that may become one: changes with changes, inserts with inserts, in one place."""
    found: dict[tuple[object, ...], list[Piece]] = {}
    for piece in pieces:
        key = (piece.tier is Tier.BASE, piece.fields, piece.place)
        found.setdefault(key, []).append(piece)
    return list(found.values())


def _merged(backend: SetBasedBackend, at: TableAt, taken: Sequence[Piece]) -> list[Segment]:
    """Write small pieces of one kind together."""
    made = []
    for group in _groups(taken):
        tier = Tier.BASE if group[0].tier is Tier.BASE else Tier.DELTA
        segments = tuple(s for p in group for s in p.segments)
        like = Piece(tier, group[0].fields, segments, group[0].place)
        rows = as_written(backend, at.table, group, tier)
        made.append(backend.write(at, like, rows, anew=False))
    return [s for s in made if s is not None]


def _worked_in(backend: SetBasedBackend, at: TableAt, taken: Sequence[Piece]) -> list[Segment]:
    """Write current rows and those that ended to segments of their own, by their columns."""
    made = []
    for fields in dict.fromkeys(p.fields for p in taken):
        segments = tuple(s for p in taken if p.fields == fields for s in p.segments)
        for tier in (Tier.BASE, Tier.HISTORY):
            rows = rows_for(backend, at.table, taken, fields, tier)
            if rows.opens or rows.as_written:
                made.append(backend.write(at, Piece(tier, fields, segments), rows, anew=True))
    return [s for s in made if s is not None]


def _replaced(
    backend: SetBasedBackend, taken: Sequence[Piece], *, is_minor: bool
) -> tuple[ReplacedSegment, ...]:
    return tuple(
        ReplacedSegment(
            *(s.id, 1, s.counts.total, backend.size(s)),
            planner.SMALL if is_minor else planner.TAKEN[piece.tier],
        )
        for piece in taken
        for s in piece.segments
    )


def _expected_volume(taken: Sequence[Piece], read: Volume, *, is_minor: bool) -> Volume:
    """What will be written, as far as it is known."""
    if is_minor:
        return Volume(len(_groups(taken)), read.rows, read.bytes)
    # Each open row stays: in the base, or in history with its end. Rows of history all stay.
    counts = sum((p.counts for p in taken if p.tier is not Tier.HISTORY), RowCounts())
    rows = counts.open + sum(p.counts.total for p in taken if p.tier is Tier.HISTORY)
    tiers = 2 if counts.closing or rows > counts.open else 1
    size = read.bytes * rows // max(1, read.rows)
    return Volume(tiers * len({p.fields for p in taken}), rows, size)
