"""The part of a large table that one request of several covers.

    part 1, 2, ..   some files or segments each; no heads, nothing that is kept besides, no copies
    the last one    all that none of them has searched: what has come since, too

Each hides the keys that it finds in the whole table, so a key that an earlier part has found is
left to that. Receipts name the pieces that were searched, by the path of a file, or by the id of a
segment where a table of a database stands for it. One that was replaced meanwhile is another piece,
and the last part searches it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from journal.erasure.requests import ErasureRequest, Target
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Manifest, Segment


@dataclass(frozen=True, slots=True)
class TableShare:
    """What one request searches of the table ``table_id``.

    ``wanted`` are pieces; None for the last part, which leaves out those that were ``searched``.
    ``earlier`` are the ids of the requests that are about the other parts.
    """

    table_id: int
    wanted: frozenset[str] | None = None
    searched: frozenset[str] = frozenset()
    earlier: tuple[str, ...] = ()

    @property
    def is_last(self) -> bool:
        """True if it searches all that the others have not."""
        return self.wanted is None

    def of(self, manifest: Manifest) -> Manifest:
        """What it searches of what a manifest lists."""
        segments = tuple(s for found in manifest.segments if (s := self._of_segment(found)))
        return replace(manifest, segments=segments, heads=manifest.heads if self.is_last else ())

    def _of_segment(self, segment: Segment) -> Segment | None:
        if not segment.files:
            return segment if self._has(segment.id) else None
        files = tuple(f for f in segment.files if self._has(f.path))
        return replace(segment, files=files) if files else None

    def _has(self, piece: str) -> bool:
        return piece not in self.searched if self.wanted is None else piece in self.wanted


def pieces_of(segments: Iterable[Segment]) -> Iterator[str]:
    """The pieces that some segments consist of."""
    for segment in segments:
        yield from [f.path for f in segment.files] or [segment.id]


def searched_by(found: Iterable[ErasureRequest], table_id: int) -> frozenset[str]:
    """The pieces of a table that requests about parts of it have searched."""
    return frozenset(piece for t in _targets(found, table_id) for piece in t.pieces)


def earlier_lists(found: Iterable[ErasureRequest], table_id: int) -> list[str]:
    """The lists with the keys of a table that requests about other parts have found."""
    return [name for target in _targets(found, table_id) for name in target.lists]


def _targets(found: Iterable[ErasureRequest], table_id: int) -> list[Target]:
    return [t for request in found for t in request.targets if t.table_id == table_id]
