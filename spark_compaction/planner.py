"""Decides which compaction pays, and in which units, from manifests and key bounds. Pure.

Read amplification is estimated, not measured: what a scan of the current view costs against a plain
scan of its rows. The weights are those of the design's measurements: every changed row costs about
as much as 2.2 plain ones, every further file a thousandth of the scan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.limits import Slo
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile, Tier
from journal.model.version import Version
from spark_compaction.limits import SMALL_ROWS

CHANGE_WEIGHT = 2.2
FILE_WEIGHT = 0.001


MODES = ("auto", "minor", "major")
WITHIN_LIMITS = "no limit is exceeded"
NOTHING_TO_REWRITE = "nothing to rewrite"
SMALL = "it is small, and not the only one"
NOT_SMALL = "it is not small, or the only small one"
MERGED_HISTORY = "history lies in many pieces"
KEPT_HISTORY = "history stays as it is"
TAKEN = {
    Tier.HEAD: "its changes are worked into the base",
    Tier.DELTA: "its changes are worked into the base",
    Tier.BASE: "changes are worked into it",
    Tier.HISTORY: MERGED_HISTORY,
}
"""Why a major compaction takes a segment."""


@dataclass(frozen=True, slots=True)
class DueCompaction:
    """A compaction that should run now, and why; ``mode`` is minor or major."""

    mode: str
    why: str


def counts_of(segments: Iterable[Segment]) -> RowCounts:
    """The rows of some segments, by kind."""
    return sum((s.counts for s in segments), RowCounts())


def amplification(manifest: Manifest, heads: RowCounts | None = None) -> float:
    """What the current view is estimated to cost, in plain scans of its rows."""
    base = counts_of(manifest.in_tier(Tier.BASE))
    changes = counts_of(manifest.in_tier(Tier.DELTA)) + (heads or RowCounts())
    current = max(1, base.open + changes.open - changes.closing)
    changed = changes.total / max(current, changes.total, 1)
    deltas = sum(len(s.files) for s in manifest.in_tier(Tier.DELTA))
    plain = max(1, current // 1_000_000)
    files = max(0, sum(len(s.files) for s in manifest.in_tier(Tier.BASE)) - plain)
    return round(1.0 + CHANGE_WEIGHT * changed + FILE_WEIGHT * (deltas + files), 4)


def details(mode: str, manifest: Manifest, heads: RowCounts | None = None) -> dict[str, object]:
    """What plans and reports say of every compaction, in any store."""
    return {"mode": mode, "amplification": amplification(manifest, heads)}


def is_small(segment: Segment, slo: Slo) -> bool:
    """True for a segment that a minor compaction merges with others of its kind."""
    return segment.bytes < slo.small_bytes if segment.bytes else segment.counts.total < SMALL_ROWS


def check_mode(mode: str) -> None:
    """Raise SETTING_VALUE for what is not a mode of compaction."""
    if mode not in MODES:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{mode} is not a mode of compaction",
            advice="there are " + ", ".join(MODES),
        )


def chosen_compaction(
    mode: str, manifest: Manifest, slo: Slo, now: Version, heads: RowCounts | None = None
) -> DueCompaction | None:
    """The compaction to run: the one that was asked for, or the one that is ``due``."""
    if mode == "auto":
        return due(manifest, slo, now, heads)
    return DueCompaction(mode, f"{mode} compaction was asked for")


def due(
    manifest: Manifest, slo: Slo, now: Version, heads: RowCounts | None = None
) -> DueCompaction | None:
    """The compaction that the limits ask for; the cheaper one where that is enough."""
    deltas = manifest.in_tier(Tier.DELTA)
    cost = amplification(manifest, heads)
    changes = (counts_of(deltas) + (heads or RowCounts())).total
    enough = changes >= slo.changes_min
    if slo.amplification_max is not None and cost > slo.amplification_max and changes and enough:
        limit = f"{slo.amplification_max:g}"
        return DueCompaction(
            "major", f"the current view costs about {cost:.2f} plain scans, over {limit}"
        )
    size = sum(s.bytes for s in deltas)
    if slo.delta_bytes_max is not None and size > slo.delta_bytes_max:
        return DueCompaction("major", f"changes take {size} bytes, over {slo.delta_bytes_max}")
    oldest = min((s.min_version for s in deltas), default=now)
    if slo.age_max_s is not None and now - oldest > slo.age_max_s * 1_000_000:
        age = (now - oldest) / 1_000_000
        return DueCompaction("major", f"changes have waited {age:.0f} s, over {slo.age_max_s:g}")
    if slo.deltas_max is not None:
        for tier in (Tier.DELTA, Tier.BASE):
            small = [s for s in manifest.in_tier(tier) if is_small(s, slo)]
            if len(small) > slo.deltas_max:
                return DueCompaction(
                    "minor", f"{len(small)} small segments in {tier}, over {slo.deltas_max}"
                )
    return None


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A file of the base and the range of its keys; places in an order of keys, not keys.

    ``lacks_filters``: an index has been made since it was written.
    """

    segment: str
    file: SegmentFile
    layout: int
    low: int
    high: int
    lacks_filters: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """Files whose ranges overlap, and so all that can hold the keys from ``low`` to the next one.

    ``changes`` is how many rows of the delta lie in that range.
    """

    pieces: tuple[BaseFile, ...]
    low: int | None
    changes: int = 0

    @property
    def rows(self) -> int:
        """Rows of its files."""
        return sum(p.file.rows for p in self.pieces)

    @property
    def is_wanted(self) -> bool:
        """True if it has changes, files without filters, or such as overlap in one layout."""
        if any(piece.lacks_filters for piece in self.pieces):
            return True
        reach: dict[int, int] = {}
        for piece in sorted(self.pieces, key=lambda p: p.low):
            if piece.low <= reach.get(piece.layout, piece.low - 1):
                return True
            reach[piece.layout] = piece.high
        return bool(self.changes)


def stretches(pieces: Iterable[BaseFile], cuts: Iterable[int] = ()) -> list[Stretch]:
    """The base as stretches in the order of their keys; the first one has no lower end.

    ``cuts`` are further places where one may begin: those between files are taken.
    """
    found: list[list[BaseFile]] = []
    reach: int | None = None
    for piece in sorted(pieces, key=lambda p: (p.low, p.high, p.file.path)):
        if reach is None or piece.low > reach:
            found.append([])
        found[-1].append(piece)
        reach = piece.high if reach is None else max(reach, piece.high)
    whole = [(min(p.low for p in group), max(p.high for p in group), group) for group in found]
    starts: dict[int, tuple[BaseFile, ...]] = {low: tuple(group) for low, _, group in whole}
    for cut in cuts:
        if not any(low <= cut <= high for low, high, _ in whole):
            starts[cut] = ()
    ordered = [Stretch(starts[low], low) for low in sorted(starts)]
    if not ordered:
        return [Stretch((), None)]
    return [replace(ordered[0], low=None), *ordered[1:]]


def rewrite_groups(
    found: Sequence[Stretch], rows_target: int, small_min: int
) -> list[list[Stretch]]:
    """What is to be rewritten: groups of neighbours of about ``rows_target`` rows, or one stretch.

    A stretch is rewritten if it is wanted, or one of many small ones.
    """
    groups: list[list[Stretch]] = []
    run: list[Stretch] = []

    def end_run() -> None:
        if run and (any(s.is_wanted for s in run) or _files(run) >= small_min):
            groups.append(list(run))
        run.clear()

    held = 0
    for stretch in found:
        size = stretch.rows + stretch.changes
        if run and held + size > rows_target:
            end_run()
            held = 0
        run.append(stretch)
        held += size
    end_run()
    return [_trim_unchanged_ends(group, small_min) for group in groups]


def _trim_unchanged_ends(group: list[Stretch], small_min: int) -> list[Stretch]:
    """Leave out what stands at either end without a change, unless there is much of it."""
    if _files(group) >= small_min:
        return group
    touched = [s.is_wanted for s in group]
    first = touched.index(True)
    last = len(touched) - touched[::-1].index(True)
    return group[first:last]


def _files(group: Iterable[Stretch]) -> int:
    """How many files can become one: those of the layout that has the most."""
    counts = Counter(p.layout for s in group for p in s.pieces)
    return max(counts.values(), default=0)
