"""Files copied with their checksums compared on the way: the unit of work of a replication.

Runs wherever the engine puts it; opens no store. A file whose bytes are not those that its manifest
lists is not copied. What is copied is on disk before it moves into its folder.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from journal.files.staging import attempt
from journal.model.errors import Code, PalimpsestError

COPY = "spark_compaction.programs.file_copying:copy_files"
_BLOCK = 1 << 20
UNIT_BYTES = 256_000_000
"""A unit copies about so many bytes."""


def copy_units(
    files: Sequence[Mapping[str, Any]], parallel: int, bandwidth: int | None, size: int = UNIT_BYTES
) -> list[dict[str, Any]]:
    """Units that copy ``files``: each has ``source``, ``root``, ``folder``, ``name``, ``bytes`` and
    ``checksum``.

    ``parallel`` files of a unit are copied at once; ``bandwidth``: so many bytes a second.
    """
    found: list[dict[str, Any]] = []
    for file in files:
        if not found or found[-1]["bytes"] + file["bytes"] > size:
            found.append({"files": [], "bytes": 0, "parallel": parallel, "bandwidth": bandwidth})
        found[-1]["files"].append(dict(file))
        found[-1]["bytes"] += file["bytes"]
    return found


def copy_files(unit: Mapping[str, Any]) -> int:
    """Copy the files of a unit; how many bytes. Raises SEGMENT_DAMAGED for a damaged one."""
    limit = Bandwidth(unit["bandwidth"])
    with ThreadPoolExecutor(max_workers=max(1, unit["parallel"])) as pool:
        return sum(pool.map(lambda file: _copy(file, limit), unit["files"]))


class Bandwidth:
    """So many bytes a second, all threads together; None: no limit."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._free_at = time.monotonic()
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Wait until so many more bytes may be copied."""
        if self._limit is None:
            return
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + size / self._limit
            wait = self._free_at - now
        time.sleep(wait)


def _copy(file: Mapping[str, Any], limit: Bandwidth) -> int:
    source, found, size = Path(file["source"]), 0, 0
    with attempt(Path(file["root"]), file["folder"]) as place:
        target = Path(file["root"]) / place / file["name"]
        try:
            with source.open("rb") as reader, target.open("wb") as writer:
                while block := reader.read(_BLOCK):
                    limit.take(len(block))
                    found, size = zlib.crc32(block, found), size + len(block)
                    writer.write(block)
                writer.flush()
                os.fsync(writer.fileno())
        except FileNotFoundError as error:
            raise PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f"{source} is missing: nothing was replicated",
                advice="run it again; if it stays missing, palimpsest verify says what is wrong",
            ) from error
        if (size, found) != (file["bytes"], file["checksum"]):
            raise PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f"{source} differs from what its manifest lists: nothing was replicated",
                advice="palimpsest verify shows what is wrong; restore the file from a backup",
            )
    return size
