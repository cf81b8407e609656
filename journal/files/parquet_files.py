"""Segment files: a query's rows written as Parquet by DuckDB, synced and checksummed.

Decides nothing about which rows those are, and lists the files nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

try:
    # Several times as fast: each process reads what it scans through once more for this.
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

from journal.local_engine.file_modes import follow_modes
from journal.local_engine.session import DIALECT, DuckDBSession
from journal.model.plan import Query
from journal.model.segment import SegmentFile
from journal.model.store_session import Parameters

_READ_BYTES = 1 << 18
_FILES_MAX = 1_000_000


def write_parquet(
    session: DuckDBSession,
    query: Query,
    parameters: Parameters,
    root: Path,
    folder: str,
    options: Mapping[str, str],
    key: str | None,
) -> tuple[SegmentFile, ...]:
    """Write a query's rows as ``copy_parquet`` does, on disk when this returns."""
    copied = copy_parquet(session, query, parameters, root, folder, options, key)
    files = tuple(sync_file(root, file) for file in copied)
    sync_folder(root / folder)
    sync_folder((root / folder).parent)
    return files


def copy_parquet(
    session: DuckDBSession,
    query: Query,
    parameters: Parameters,
    root: Path,
    folder: str,
    options: Mapping[str, str],
    key: str | None,
) -> tuple[SegmentFile, ...]:
    """Write a query's rows as Parquet files in an empty folder; not on disk yet, without checksums.

    ``folder`` is relative to the warehouse ``root``; so are the paths of the result. The folder it
    lies in is there already. ``key`` is the integer column whose bounds are recorded.
    """
    params = [
        exp.CopyParameter(this=exp.var(name), expression=exp.Literal.string(value))
        for name, value in {"FORMAT": "parquet", "RETURN_STATS": "true", **options}.items()
    ]
    copy = exp.Copy(
        this=exp.Subquery(this=query.ast.copy()),
        kind=False,
        files=[exp.Literal.string(str(root / folder))],
        params=params,
    )
    session.execute(Query(copy, query.parameters), parameters)
    written = session.fetch_many(_FILES_MAX)
    copied = sorted((_copied_file(folder, row, key) for row in written), key=lambda f: f.path)
    for file in copied:
        follow_modes(root / file.path)
    return tuple(copied)


def _copied_file(folder: str, row: tuple[Any, ...], key: str | None) -> SegmentFile:
    """One file of a COPY, from the row that RETURN_STATS gives for it."""
    name, rows, size, _, statistics, *_ = row
    low = high = None
    if key is not None:
        quoted = exp.to_identifier(key, quoted=True).sql(dialect=DIALECT)
        bounds = (statistics or {}).get(quoted, {})
        if "min" in bounds and "max" in bounds:
            low, high = int(bounds["min"]), int(bounds["max"])
    return SegmentFile(f"{folder}/{Path(name).name}", int(size), int(rows), 0, low, high)


def sync_file(root: Path, file: SegmentFile) -> SegmentFile:
    """A file of a COPY, its bytes on disk, with their checksum."""
    with (root / file.path).open("rb") as handle:
        os.fsync(handle.fileno())
    return replace(file, checksum=checksum(root / file.path))


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path: Path) -> int:
    """CRC-32 of a file's bytes."""
    value = 0
    block = memoryview(bytearray(_READ_BYTES))
    with path.open("rb", buffering=0) as handle:
        while count := handle.readinto(block):
            value = crc32(block[:count], value)
    return value
