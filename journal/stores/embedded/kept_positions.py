"""Saves positions of ended rows beside the files, for the next process.

    _palimpsest/positions/<table id>.bits    one line of JSON, then the bits, compressed

They are derived from keys and versions and hold no value of a row. A file counts only for the very
state of a table that it was found in (the same segments, files and last version), and where its
check sum is right; any other is as good as none, and is removed. Decides not when to find them.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from journal.erasure.secret import PRIVATE
from journal.local_engine.file_modes import follow_modes
from journal.model.segment import Segment, SegmentFile, Tier
from journal.model.version import Version
from journal.stores.embedded import position_scan
from journal.stores.embedded.position_scan import Blocks, EndedRows
from journal.transactions.lookup import SEALED

_FORMAT = 1
_FOLDER = "positions"
_Tiers = Mapping[Tier, EndedRows]


def keep(
    root: Path, table_id: int, segments: tuple[Segment, ...], last: Version, tiers: _Tiers
) -> None:
    """Write what was found in a state of a table, in the place of what was there.

    Not synced: whoever reads it holds it against its check sum.
    """
    path = _place(root, table_id)
    if not path.parent.is_dir():
        path.parent.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.mkdir(exist_ok=True)
        follow_modes(path.parent)
    blocks = [b for t in SEALED if t in tiers for file in tiers[t].blocks for b in file]
    packed = zlib.compress(b"".join(b for b in blocks if b is not None), 1)
    head = {
        "format": _FORMAT,
        "of": _digest(segments, last),
        "blocks": [b is not None for b in blocks],
        "crc": zlib.crc32(packed),
    }
    draft = path.with_suffix(".draft")
    draft.write_bytes(json.dumps(head).encode() + b"\n" + packed)
    follow_modes(draft)
    draft.replace(path)


def kept_tiers(
    root: Path, table_id: int, segments: tuple[Segment, ...], last: Version
) -> _Tiers | None:
    """The ended rows of a table in this state; None where they were not kept."""
    path = _place(root, table_id)
    try:
        line, _, packed = path.read_bytes().partition(b"\n")
        head = json.loads(line)
        if head["of"] != _digest(segments, last) or head["crc"] != zlib.crc32(packed):
            return None
        return _unpacked_tiers(head, zlib.decompress(packed), segments)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, zlib.error):
        forget(root, table_id)
        return None


def forget(root: Path, table_id: int) -> None:
    """Remove what is kept of a table."""
    with suppress(OSError):
        _place(root, table_id).unlink(missing_ok=True)


def _place(root: Path, table_id: int) -> Path:
    return root / PRIVATE / _FOLDER / f"{table_id}.bits"


def _digest(segments: tuple[Segment, ...], last: Version) -> str:
    """What tells a state of a table from every other one."""
    listed: list[Any] = [_FORMAT, position_scan.BLOCK_ROWS, last]
    for segment in segments:
        files = [[f.path, f.rows, f.checksum] for f in segment.files]
        listed.append([segment.id, segment.tier.value, segment.max_version, files])
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _unpacked_tiers(
    head: Mapping[str, Any], bits: bytes, segments: tuple[Segment, ...]
) -> _Tiers | None:
    found: dict[Tier, EndedRows] = {}
    there = iter(head["blocks"])
    place = 0
    for tier in SEALED:
        files = tuple(f for s in segments if s.tier is tier for f in s.files)
        of_files: list[Blocks] = []
        for file in files:
            blocks: list[bytes | None] = []
            for width in _widths(file):
                is_there = next(there, None)
                blocks.append(bits[place : place + width] if is_there else None)
                place += width if is_there else 0
            of_files.append(tuple(blocks))
        if files:
            found[tier] = EndedRows(files, tuple(of_files))
    return found if place == len(bits) and next(there, None) is None else None


def _widths(file: SegmentFile) -> Iterator[int]:
    """Bytes of the blocks of a file."""
    most = position_scan.BLOCK_ROWS
    for first in range(0, file.rows, most):
        yield -(-min(most, file.rows - first) // 8)
