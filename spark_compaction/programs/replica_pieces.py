"""Pieces of a package in a server: which of them a replica has, and which rows it must not have.

A piece goes by its origin, a digest of the store that made it and of its name there, and the name
of its copy repeats that: so a piece that is replicated back is not copied. What of a piece is left
once rows are out of it is another piece, without an origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment, Tier
from journal.records.report import Volume
from spark_compaction.backend import SetBasedBackend, TableAt
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_store import LeftOut
from spark_compaction.programs.rewriting import Goes, compare, plan_rewrite, write_without
from spark_compaction.programs.table_pieces import each

ORIGIN_CHARS = 20
_WHY = ("holds {} rows that may not be in a replica", "holds none")


@dataclass(slots=True)
class ReplicaPieces:
    """What the pieces of a package are in the target, and which of them are to be loaded.

    ``here`` has what is to be listed by origin; None where nothing is left of a piece. ``wanted``
    are loaded, ``unlooked`` may hold rows that are to be left out now. ``filtered`` says of pieces
    by origin what is left of them: ``rows`` are what the source's had, ``segment`` what is listed
    instead, ``under`` that of a ``LeftOut``.
    """

    order: tuple[str, ...]
    here: dict[str, Segment | None]
    wanted: tuple[Segment, ...]
    unlooked: tuple[str, ...]
    lacking_volume: Volume
    filtered: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What is to be listed."""
        found = (self.here.get(name) for name in self.order)
        return tuple(segment for segment in found if segment is not None)

    @property
    def lacking_names(self) -> tuple[str, ...]:
        """The origins of what is to be loaded."""
        return tuple(s.files[0].path for s in self.wanted)

    @property
    def reused(self) -> int:
        """How many pieces are there already."""
        return len(self.order) - len(self.wanted)

    @property
    def loaded(self) -> dict[str, Segment]:
        """By origin, what was loaded."""
        return {n: s for n in self.lacking_names if (s := self.here.get(n)) is not None}

    @property
    def unlooked_segments(self) -> dict[str, Segment]:
        """By origin, what is there already and may hold rows that are to be left out now."""
        return {n: s for n in self.unlooked if (s := self.here[n]) is not None}


def digest_of_origin(store: str, name: str) -> str:
    """The origin of a piece that a store has made under a name."""
    return hashlib.sha256(f"{store}/{name}".encode()).hexdigest()[:ORIGIN_CHARS]


def match_pieces(
    package: ReplicaPackage,
    live: Sequence[Segment],
    origin_of: Callable[[Segment], str],
    detail: Mapping[str, Any],
    under: str,
) -> ReplicaPieces:
    """What of a package is among ``live`` pieces, and what is not. Pure.

    What rows were left out of is here only if the same may not be in it now.
    """
    by_name = {s.id: s for s in live}
    by_origin = {origin_of(s): s for s in live}
    known: Mapping[str, dict[str, Any]] = detail.get("filtered", {})
    is_same = detail.get("under") == under
    here: dict[str, Segment | None] = {}
    kept: dict[str, dict[str, Any]] = {}
    wanted: list[Segment] = []
    for segment in package.segments:
        (file,) = segment.files
        name, less = file.path, known.get(file.path)
        if less is not None and (less["rows"], less["under"]) == (file.rows, under):
            left = less["segment"]
            if left is None or left in by_name:
                kept[name] = less
                here[name] = None if left is None else by_name[left]
                continue
        found = by_origin.get(name)
        if found is not None and _is_like(found, segment):
            here[name] = _listed_here(found, segment)
        else:
            wanted.append(segment)
    sizes = dict(package.files)
    copied = Volume(
        len(wanted),
        sum(s.files[0].rows for s in wanted),
        sum(sizes.get(s.files[0].path, s.files[0]).bytes for s in wanted),
    )
    order = tuple(s.files[0].path for s in package.segments)
    unlooked = () if is_same else tuple(n for n in here if n not in kept)
    return ReplicaPieces(order, here, tuple(wanted), unlooked, copied, kept)


def _is_like(found: Segment, segment: Segment) -> bool:
    """True if a piece of the same origin holds what the package lists; nobody counts heads."""
    rows, checksums = found.counts.total, {found.checksum, segment.checksum} - {None}
    return rows in {0, segment.files[0].rows} and len(checksums) < 2


def _listed_here(found: Segment, segment: Segment) -> Segment:
    """What is listed of a piece that is there: a head that takes no rows becomes a segment."""
    if found.counts.total:
        return found
    return Segment(
        *(found.id, Tier.DELTA, (), found.fields, segment.counts),
        *(segment.min_version, segment.max_version, segment.checksum),
    )


def leave_rows_out(
    backend: SetBasedBackend,
    at: TableAt,
    found: ReplicaPieces,
    goes: Goes,
    package: ReplicaPackage,
    leaving: LeftOut,
    drop: Callable[[Segment], object],
) -> int:
    """Write pieces anew without rows that must not be in a replica; how many rows that was.

    Pieces without such rows stay as they are; ``drop`` removes what was loaded and is replaced.
    """
    loaded, unlooked = found.loaded, found.unlooked_segments
    names = {s.id: n for n, s in (*loaded.items(), *unlooked.items())}
    pieces = each([*loaded.values(), *unlooked.values()])
    planned = plan_rewrite(backend, at, pieces, goes, _WHY)
    done = write_without(backend, at, planned.pieces, goes)
    compare(backend, done, goes)
    rows = {s.files[0].path: s.files[0].rows for s in package.segments}
    for one in done:
        (old,) = one.piece.segments
        name = names[old.id]
        if name in loaded:
            drop(old)
        found.here[name] = one.made
        left = None if one.made is None else one.made.id
        found.filtered[name] = {"rows": rows[name], "segment": left, "under": leaving.under}
    return planned.gone.total


def file_of_piece(package: ReplicaPackage, table: Table, name: str) -> str:
    """Where the file of a piece lies; raises JOB_BUSY where the package was made without it."""
    if name not in dict(package.files):
        raise PalimpsestError(
            Code.JOB_BUSY,
            f"the replica of {table.name} was changed while its pieces were copied",
            advice="nothing was changed; run it again",
        )
    return package.path_of(name)


def piece_damaged(name: str) -> PalimpsestError:
    """The error for a piece that is not what its source has."""
    return PalimpsestError(
        Code.SEGMENT_DAMAGED,
        f"{name} does not hold what its source has: nothing was replicated",
        advice="run it again; if it stays, palimpsest verify at the source says what is wrong",
    )
