"""What a search for people has read and found in one table: values that are counted up.

``live`` is what manifests list, ``kept`` what retired segments, backups and archives hold besides,
``copies`` the backups that lie elsewhere. Finds nothing by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field, replace

import pyarrow as pa

from journal.erasure.unreachable_copies import Unsearched
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Segment
from journal.model.version import Version

NOT_LOOKED_AT = "backups were not searched: the condition reads more than the table's rows"
"""What a receipt says of a condition that cannot be looked at in what is kept."""


@dataclass(slots=True)
class Tally:
    """Files of one kind of place, and their bytes, that were read and that were not."""

    read: int = 0
    skipped: int = 0
    bytes_read: int = 0
    bytes_skipped: int = 0

    def count(self, size: int, *, read: bool = True) -> None:
        """Count one file of so many bytes."""
        if read:
            self.read += 1
            self.bytes_read += size
        else:
            self.skipped += 1
            self.bytes_skipped += size


@dataclass(slots=True)
class Search:
    """What was searched of a table, and the keys that were found.

    ``seen`` are the pieces of the store that need not be read again, but for rows that were
    written after ``version``. ``left`` are the copies that could not be searched, ``warns`` says
    what was left out.
    """

    keys: list[pa.Table] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    version: Version | None = None
    live: Tally = field(default_factory=Tally)
    kept: Tally = field(default_factory=Tally)
    copies: Tally = field(default_factory=Tally)
    left: list[Unsearched] = field(default_factory=list)
    warns: str = ""

    def count_live(self, segments: Iterable[Segment]) -> None:
        """Count live segments as searched, each file once."""
        self._count(self.live, segments)

    def count_kept(self, segments: Iterable[Segment]) -> None:
        """Count segments of what is kept as searched, each file once."""
        self._count(self.kept, segments)

    def _count(self, tally: Tally, segments: Iterable[Segment]) -> None:
        for segment in segments:
            for file in segment.files:
                if file.path not in self.seen:
                    self.seen.add(file.path)
                    tally.count(file.bytes)
            # A table of a database stands for its segment.
            if not segment.files and segment.id not in self.seen:
                self.seen.add(segment.id)
                tally.count(0)

    def count_copy(self, segments: Iterable[Segment]) -> None:
        """Count all files of a copy as searched."""
        for segment in segments:
            for file in segment.files:
                self.copies.count(file.bytes)


def unseen(segment: Segment, seen: Collection[str]) -> Segment | None:
    """A segment with those of its files that were not searched yet; None if all were."""
    if not segment.files:
        return None if segment.id in seen else segment
    files = tuple(f for f in segment.files if f.path not in seen)
    return replace(segment, files=files) if files else None
