"""The Bloom filters of a folder of segment files, in one sidecar file beside them.

    filters.bloom:  magic, length and CRC-32 of the header, header (JSON), bits of each filter

The header says, for each file and column, where its bits are, and their CRC-32. A sidecar that is
missing, damaged or silent about a file or column means that the file is read. It is removed with
the folder it describes. Writes no segment and decides about none.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from pathlib import Path as FilePath
from typing import BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa

from journal.files.filters.bloom import BLOCK_BITS, Bloom, build
from journal.files.filters.hashing import (
    Hashes,
    can_hash,
    combine,
    hash_into,
    hash_rows,
    normalised,
)
from journal.identity.descriptor import FPP_DEFAULT, DescriptorEntry, filtered_of
from journal.identity.values import values_at
from journal.local_engine.file_modes import follow_modes
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import SIDECAR, SegmentFile

KEY = "#key"
"""The filter of a file's keys, all key columns together."""
_STEM, _SUFFIX = "filters", ".bloom"
_MAGIC = b"PALBLOOM1\n"
_HEAD = struct.Struct("<II")

FileFilters = Mapping[str, Bloom]
"""The filters of one file by the id of their column."""
Values: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(slots=True)
class _Gathered:
    """Hashes of one column in one place, for new memory costs time."""

    room: Hashes
    count: int = 0

    def reserve(self, count: int) -> Hashes:
        """Where the hashes of so many further values belong."""
        before, self.count = self.count, self.count + count
        if self.count > len(self.room):
            larger = np.empty(max(self.count, 2 * len(self.room)), dtype=np.uint64)
            larger[:before] = self.room[:before]
            self.room = larger
        return self.room[before : self.count]


@dataclass(slots=True)
class FilterBuilder:
    """Collects what one file holds, batch by batch."""

    identities: tuple[DescriptorEntry, ...]
    key: tuple[str, ...] = ()
    rows: int = 0
    _gathered: dict[str, _Gathered] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)

    @staticmethod
    def of(table: Table) -> FilterBuilder | None:
        """A builder for files of ``table``; None if it is to have no filters."""
        identities = filtered_of(table)
        return FilterBuilder(identities, table.key) if identities else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs, by their physical names."""
        return tuple(dict.fromkeys([*(i.path.root for i in self.identities), *self.key]))

    def fresh(self, file: SegmentFile) -> FilterBuilder:
        """A builder for a file; its keys have no filter where its bounds say as much."""
        is_needed = len(self.key) != 1 or not file.fills_its_bounds
        return FilterBuilder(self.identities, self.key if is_needed else (), file.rows)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the rows of a batch; columns it lacks come by themselves."""
        for identity in self.identities:
            if identity.path.root in batch.schema.names:
                values = values_at(batch.column(identity.path.root), identity.path)
                self._take(identity.id, _in_form(values, identity))
        if self.key and self.key[0] in batch.schema.names:
            hashes = hash_keys([batch.column(name) for name in self.key])
            if hashes is None:
                self._refused.add(KEY)
            else:
                self._room(KEY).reserve(len(hashes))[:] = hashes

    def _take(self, name: str, values: Values | None) -> None:
        if values is None:
            self._refused.add(name)
        else:
            hash_into(values, self._room(name).reserve(len(values)))

    def _room(self, name: str) -> _Gathered:
        if name not in self._gathered:
            self._gathered[name] = _Gathered(np.empty(self.rows, dtype=np.uint64))
        return self._gathered[name]

    def finish(self) -> dict[str, Bloom]:
        """The filters of the file."""
        sizes = {i.id: (i.fpp, i.distinct) for i in self.identities}
        found = {}
        for name, held in self._gathered.items():
            if name not in self._refused:
                fpp, distinct = sizes.get(name, (FPP_DEFAULT, None))
                count = None if distinct is None else min(distinct, max(1, held.count))
                found[name] = build(held.room[: held.count], fpp, count)
        return found


def identifier_hashes(values: Values, identity: DescriptorEntry) -> Hashes | None:
    """Hashes of identifiers in the form in which the filters of ``identity`` hold them."""
    formed = _in_form(values, identity)
    return None if formed is None else hash_rows(formed)


def _in_form(values: Values, identity: DescriptorEntry) -> Values | None:
    """The values themselves in that form; None if they cannot be hashed."""
    if values.null_count:
        values = values.drop_null()
    if not can_hash(values.type):
        return None
    if identity.normaliser.word:
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            return None
        values = normalised(values, identity.normaliser)
    return values


def hash_keys(columns: Iterable[Values]) -> Hashes | None:
    """One hash for each key; None if a column is of a type that cannot be hashed, or has NULLs."""
    found: Hashes | None = None
    for values in columns:
        if not can_hash(values.type) or values.null_count:
            return None
        hashes = hash_rows(values)
        found = hashes if found is None else combine(found, hashes)
    return found


def write_sidecar(
    folder: FilePath, filters: Mapping[str, FileFilters], part: str | None = None
) -> None:
    """Write the sidecar of a folder, on disk when this returns; replaces one that is there.

    Where several write files into one folder each writes a ``part`` of the sidecar, to be merged.
    """
    target = folder / (SIDECAR if part is None else f"{_STEM}{part}{_SUFFIX}")
    header: dict[str, dict[str, list[int]]] = {}
    bits: list[bytes] = []
    position = 0
    for name, columns in filters.items():
        header[name] = {}
        for column, bloom in columns.items():
            numbers = [bloom.blocks, bloom.probes, bloom.distinct, position, zlib.crc32(bloom.bits)]
            header[name][column] = numbers
            bits.append(bloom.bits)
            position += len(bloom.bits)
    text = json.dumps(header).encode()
    draft = target.with_name(target.name + ".new")
    with draft.open("wb") as handle:
        follow_modes(draft)
        handle.write(_MAGIC)
        handle.write(_HEAD.pack(len(text), zlib.crc32(text)))
        handle.write(text)
        handle.writelines(bits)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(target)


def merge_sidecars(folder: FilePath) -> None:
    """Make one sidecar of the parts that were written beside each other."""
    parts = [p for p in _sidecars(folder) if p.name != SIDECAR]
    if len(parts) == 1 and not (folder / SIDECAR).exists():
        parts[0].replace(folder / SIDECAR)
    elif parts:
        write_sidecar(folder, read_sidecar(folder))
        for path in parts:
            path.unlink(missing_ok=True)


def _sidecars(folder: FilePath) -> list[FilePath]:
    return sorted(folder.glob(f"{_STEM}*{_SUFFIX}"))


def read_sidecar(
    folder: FilePath, columns: Collection[str] | None = None
) -> dict[str, dict[str, Bloom]]:
    """The filters of a folder's files by name, of all columns or some; those that are whole."""
    found: dict[str, dict[str, Bloom]] = {}
    for path in _sidecars(folder):
        try:
            with path.open("rb") as handle:
                found.update(_read(handle, columns))
        except (OSError, ValueError, struct.error):
            continue
    return found


def _read(handle: BinaryIO, columns: Collection[str] | None) -> dict[str, dict[str, Bloom]]:
    if handle.read(len(_MAGIC)) != _MAGIC:
        return {}
    length, checksum = _HEAD.unpack(handle.read(_HEAD.size))
    text = handle.read(length)
    if zlib.crc32(text) != checksum:
        return {}
    start = handle.tell()
    found: dict[str, dict[str, Bloom]] = {}
    for name, stored in json.loads(text).items():
        for column, (blocks, probes, distinct, at, expected) in stored.items():
            if columns is not None and column not in columns:
                continue
            handle.seek(start + at)
            bits = handle.read(blocks * BLOCK_BITS // 8)
            if zlib.crc32(bits) == expected:
                found.setdefault(name, {})[column] = Bloom(blocks, probes, distinct, bits)
    return found


def drop_from_sidecar(folder: FilePath, gone: Iterable[str]) -> None:
    """Take the filters of some files out of a folder's sidecar; the last ones take it along."""
    kept = {n: f for n, f in read_sidecar(folder).items() if n not in set(gone)}
    if kept:
        merge_sidecars(folder)
        write_sidecar(folder, kept)
    else:
        for path in _sidecars(folder):
            path.unlink(missing_ok=True)
