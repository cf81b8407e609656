"""Segments, tiers, heads and the manifest that lists them: what a journal consists of, as values.

A manifest is replaced, never edited; every function returns a new one. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from enum import StrEnum
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.version import Version

SIDECAR = "filters.bloom"
"""What the file of filters beside a segment's files is called."""


class Tier(StrEnum):
    """What a piece of a journal holds; ``HEAD`` and ``BUFFER`` are not sealed."""

    BASE = "base"
    DELTA = "delta"
    HISTORY = "history"
    HEAD = "head"
    BUFFER = "buffer"


Fields = tuple[tuple[str, str], ...]
"""Physical column names and types, version columns not included."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows of each kind a piece holds."""

    open: int = 0
    closing: int = 0
    tombstone: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return self.open + self.closing + self.tombstone

    @property
    def changed(self) -> int:
        """Rows of the table that a change wrote: those it begins or deletes.

        A change of a key counts twice, as the row of the old one goes and one of the new comes.
        """
        return self.open + self.tombstone

    def times(self, factor: int) -> RowCounts:
        """So many times these counts."""
        return RowCounts(self.open * factor, self.closing * factor, self.tombstone * factor)

    def __sub__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.open - other.open, self.closing - other.closing, self.tombstone - other.tombstone
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.open + other.open, self.closing + other.closing, self.tombstone + other.tombstone
        )


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One Parquet file: path relative to the warehouse, size in bytes, CRC-32 of its bytes.

    ``key_low`` and ``key_high`` bound the first key column where that is an integer, so that a row
    looked up by key is looked for only in the files that may hold it.
    """

    path: str
    bytes: int
    rows: int
    checksum: int
    key_low: int | None = None
    key_high: int | None = None

    @property
    def fills_its_bounds(self) -> bool:
        """True when about every second number between its bounds is a key of it, or more."""
        if self.key_low is None or self.key_high is None:
            return False
        return self.key_high - self.key_low < 2 * self.rows

    def may_hold(self, key: object) -> bool:
        """False only if no row of the file has ``key`` in its first key column."""
        if self.key_low is None or self.key_high is None:
            return True
        if not isinstance(key, int) or isinstance(key, bool):
            return True
        return self.key_low <= key <= self.key_high


@dataclass(frozen=True, slots=True)
class Segment:
    """An immutable, sealed piece of a journal.

    Its rows were written (begun, or ended if they are closing rows) between ``min_version`` and
    ``max_version``. Without files it has a ``checksum`` of its rows, if somebody made one.
    """

    id: str
    tier: Tier
    files: tuple[SegmentFile, ...]
    fields: Fields
    counts: RowCounts
    min_version: Version
    max_version: Version
    checksum: int | None = None

    @staticmethod
    def of_changes(
        name: str,
        files: tuple[SegmentFile, ...],
        fields: Fields,
        counts: RowCounts,
        versions: tuple[Version, Version],
    ) -> Segment:
        """A segment of rows that commits have written: a base if each of them is open.

        ``versions`` are the lowest and the highest at which they were written.
        """
        only_open = counts.closing == 0 and counts.tombstone == 0
        tier = Tier.BASE if only_open else Tier.DELTA
        return Segment(name, tier, files, fields, counts, *versions)

    @property
    def bytes(self) -> int:
        """Size of all files; 0 where it is not on record, see ``known_bytes``."""
        return sum(f.bytes for f in self.files)

    @property
    def known_bytes(self) -> int | None:
        """Size of all files; None where rows have none on record, as partitions of Hive's."""
        has_sizes = all(f.bytes or not f.rows for f in self.files)
        is_listed = bool(self.files) or not self.counts.total
        return self.bytes if has_sizes and is_listed else None

    def to_json(self) -> dict[str, Any]:
        """A plain structure; ``from_json`` reads it back."""
        plain = {name: getattr(self, name) for name in _SEGMENT}
        if self.checksum is None:
            del plain["checksum"]
        files = [{name: getattr(f, name) for name in _FILE} for f in self.files]
        return {**plain, "files": files, "counts": asdict(self.counts)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Segment:
        """The segment that ``to_json`` wrote."""
        return _segment(data)


def known_size(segments: Iterable[Segment]) -> int | None:
    """How many bytes some segments have together; None where one's size is not known."""
    sizes = [segment.known_bytes for segment in segments]
    return None if None in sizes else sum(size or 0 for size in sizes)


_FILE = tuple(f.name for f in fields(SegmentFile))
_SEGMENT = tuple(f.name for f in fields(Segment))
"""Copied by name: ``asdict`` would copy every value of every file, and there may be thousands."""


@dataclass(frozen=True, slots=True)
class Head:
    """An open end of a journal: a table of the store that takes appends.

    Only the newest head of a manifest takes rows; an older one is being sealed, or was written
    under an older set of columns.
    """

    generation: int
    fields: Fields


@dataclass(frozen=True, slots=True)
class Manifest:
    """The live heads and segments of one journal.

    ``masks`` are lists of keys (files, relative to the warehouse) whose rows nobody may see: they
    are being erased. ``spared`` are those that would be masks, were they not under a legal hold:
    they hide nothing. States before version ``floor`` cannot be told any more: versions that ended
    by then were removed. A store whose views of tiers are shared names them by ``epoch``, which
    rises with each replacement, so that whoever reads an earlier manifest finds its views.
    """

    generation: int
    heads: tuple[Head, ...]
    segments: tuple[Segment, ...] = ()
    masks: tuple[str, ...] = ()
    floor: Version = 0
    epoch: int = 0
    spared: tuple[str, ...] = ()

    @property
    def key_lists(self) -> tuple[str, ...]:
        """All lists of keys that something still needs."""
        return (*self.masks, *self.spared)

    def in_tier(self, tier: Tier) -> tuple[Segment, ...]:
        """The segments of one tier, oldest first."""
        return tuple(s for s in self.segments if s.tier is tier)

    def with_segments(self, added: Iterable[Segment]) -> Manifest:
        """A manifest that lists more segments."""
        return replace(self, generation=self.generation + 1, segments=(*self.segments, *added))

    def with_head(self, fields: Fields) -> Manifest:
        """A manifest with a fresh head of these columns; earlier heads stay readable."""
        newest = max((h.generation for h in self.heads), default=0)
        heads = (*self.heads, Head(newest + 1, fields))
        return replace(self, generation=self.generation + 1, heads=heads)

    def with_head_for(self, fields: Fields) -> Manifest:
        """The manifest itself if its newest head has these columns, else one with such a head."""
        fits = bool(self.heads) and self.heads[-1].fields == fields
        return self if fits else self.with_head(fields)

    def sealed(self, heads: Iterable[Head], segments: Iterable[Segment]) -> Manifest:
        """A manifest in which ``segments`` stand for ``heads``."""
        gone = {h.generation for h in heads}
        kept = tuple(h for h in self.heads if h.generation not in gone)
        listed = (*self.segments, *segments)
        return replace(self, generation=self.generation + 1, heads=kept, segments=listed)

    def with_keys(self, mask: str | None, spared: str | None) -> Manifest:
        """A manifest that hides the rows of more keys, and names those that a hold spares."""
        masks = self.masks if mask is None else (*self.masks, mask)
        left = self.spared if spared is None else (*self.spared, spared)
        return replace(self, generation=self.generation + 1, masks=masks, spared=left)

    def without_keys(self, lists: Iterable[str]) -> Manifest:
        """A manifest without some lists of keys: the rows are gone, or may be seen again."""
        gone = set(lists)
        masks, spared = (
            tuple(name for name in names if name not in gone) for names in (self.masks, self.spared)
        )
        return replace(self, generation=self.generation + 1, masks=masks, spared=spared)

    def to_json(self) -> dict[str, Any]:
        """A plain structure for the catalog; ``from_json`` reads it back."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        heads, segments = [asdict(h) for h in self.heads], [s.to_json() for s in self.segments]
        return {**plain, "heads": heads, "segments": segments}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Manifest:
        """The manifest that ``to_json`` wrote."""
        heads = tuple(Head(h["generation"], _fields(h["fields"])) for h in data["heads"])
        segments = tuple(_segment(s) for s in data["segments"])
        masks, floor = tuple(data.get("masks", ())), data.get("floor", 0)
        epoch, spared = data.get("epoch", 0), tuple(data.get("spared", ()))
        return Manifest(data["generation"], heads, segments, masks, floor, epoch, spared)


def _fields(raw: list[list[str]]) -> Fields:
    return tuple((name, kind) for name, kind in raw)


def _segment(raw: dict[str, Any]) -> Segment:
    return Segment(
        id=raw["id"],
        tier=Tier(raw["tier"]),
        files=tuple(SegmentFile(**f) for f in raw["files"]),
        fields=_fields(raw["fields"]),
        counts=RowCounts(**raw["counts"]),
        min_version=raw["min_version"],
        max_version=raw["max_version"],
        checksum=raw.get("checksum"),
    )
