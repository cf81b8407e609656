"""Checks segment files against the manifest, so that damage raises an error.

A file is checked in full (size and CRC-32) the first time a process reads it, and again whenever
its size or modification time differs from then; many bytes are read by several threads. It never
repairs anything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from journal.files.parquet_files import checksum
from journal.model.errors import Code, PalimpsestError
from journal.model.segment import Segment, SegmentFile

_BYTES_ALONE = 1 << 23
"""As many bytes as one thread reads before another one would have begun."""
_ADVICE = "run `palimpsest verify`; restore the file from a backup of the warehouse"


class SegmentChecker:
    """Remembers which files of a warehouse were found whole."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._whole: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def check(self, segments: Iterable[Segment]) -> None:
        """Raise SEGMENT_DAMAGED for the first file that is missing or altered."""
        self.check_files(file for segment in segments for file in segment.files)

    def check_files(self, files: Iterable[SegmentFile]) -> None:
        """The same for some files."""
        unread = [file for file in files if not self._is_whole(file)]
        readers = min(len(unread), os.cpu_count() or 1)
        if readers < 2 or sum(file.bytes for file in unread) <= _BYTES_ALONE:
            for file in unread:
                self._read(file)
            return
        with ThreadPoolExecutor(readers, "palimpsest-checksums") as pool:
            # In their order, so that the first damaged file is named whichever thread was sooner.
            for _ in pool.map(self._read, unread):
                pass

    def check_again(self, file: SegmentFile) -> Path:
        """Where one file lies; read in full whatever this process has found of it before."""
        found = self.damage(file)
        if found is not None:
            raise _damaged(file, found)
        return self._root / file.path

    def trust(self, file: SegmentFile) -> None:
        """Record a file this process has just written."""
        status = (self._root / file.path).stat()
        with self._lock:
            self._whole[file.path] = (status.st_size, status.st_mtime_ns)

    def damage(self, file: SegmentFile) -> str | None:
        """What is wrong with a file, checked in full; None when it is whole."""
        path = self._root / file.path
        if not path.exists():
            return "is missing"
        size = path.stat().st_size
        if size != file.bytes:
            return f"has {size} bytes, the manifest says {file.bytes}"
        if checksum(path) != file.checksum:
            return "was altered: its checksum differs from the manifest's"
        return None

    def _is_whole(self, file: SegmentFile) -> bool:
        """True for a file that was read in full before, and looks the same as then."""
        return self._whole.get(file.path) == self._signature(file)

    def _signature(self, file: SegmentFile) -> tuple[int, int]:
        try:
            status = (self._root / file.path).stat()
        except FileNotFoundError:
            raise _damaged(file, "is missing") from None
        return status.st_size, status.st_mtime_ns

    def _read(self, file: SegmentFile) -> None:
        signature = self._signature(file)
        found = self.damage(file)
        if found is not None:
            raise _damaged(file, found)
        with self._lock:
            self._whole[file.path] = signature


@contextmanager
def damage_named(checker: SegmentChecker, segments: Iterable[Segment]) -> Iterator[None]:
    """What fails over a damaged file of some segments fails as SEGMENT_DAMAGED, which names it."""
    try:
        yield
    except PalimpsestError:
        checker.check(segments)
        raise


def _damaged(file: SegmentFile, what: str) -> PalimpsestError:
    return PalimpsestError(Code.SEGMENT_DAMAGED, f"segment file {file.path} {what}", advice=_ADVICE)
