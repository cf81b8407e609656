"""The text of a Parquet column chunk, taken from its pages as it lies there.

Knows one way of writing, which is DuckDB's for text it keeps no dictionary of: LZ4 and
DELTA_LENGTH_BYTE_ARRAY, the lengths of all values of a page and then their bytes. Lengths that
differ take the compiled loops. Anything else, and whatever does not add up to the byte, is left to
a whole reader: the answer is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.filters.hashing import words_of
from journal.files.filters.jit import loops
from journal.files.filters.sidecar import ColumnValues

_LZ4 = pa.Codec("lz4_raw")
_DEPTH_MAX = 4
_MINI_MAX = 1 << 12
_ROWS_MAX = 1 << 24
_HEADER_MAX = 1 << 12
"""The bytes in which the header of a page is looked for: bounds in it may be long texts."""

_BOOLEANS, _BYTE, _INTEGERS, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 8, 12
"""Thrift's compact types, as far as headers of pages have them."""


class _Unknown(ValueError):
    """Bytes that are not what this module knows."""


def texts(
    file: pa.Buffer, chunk: pq.ColumnChunkMetaData, kind: pa.DataType, levels: int
) -> list[ColumnValues] | None:
    """The values of a column chunk, page by page, as large text or bytes; None if they cannot be.

    ``kind`` is Arrow's type of the column, ``levels`` its highest definition level.
    """
    if chunk.compression != "LZ4" or set(chunk.encodings) - {"DELTA_LENGTH_BYTE_ARRAY", "RLE"}:
        return None
    start = chunk.data_page_offset
    held = file[start : start + chunk.total_compressed_size]
    try:
        pages = list(_pages(held, chunk.total_uncompressed_size, kind, levels))
    except (_Unknown, IndexError, OverflowError, OSError, pa.ArrowException):
        return None
    rows = sum(p.present + p.nulls for p in pages)
    return pages if rows == chunk.num_values else None


def _pages(
    held: pa.Buffer, bytes_max: int, kind: pa.DataType, levels: int
) -> Iterator[ColumnValues]:
    position = 0
    while position < held.size:
        header, size = _struct(bytes(held[position : position + _HEADER_MAX]))
        position += size
        match header:
            # A data page: its bytes, then packed, its rows, how texts and levels are written.
            case {1: 0, 2: int(whole), 3: int(packed), 5: {1: int(rows), 2: 6, 3: 3}}:
                if packed < 0 or not 0 <= whole <= bytes_max:
                    raise _Unknown
                page = _LZ4.decompress(held[position : position + packed], whole)
                yield _texts(page, rows, kind, levels)
                position += packed
            case _:
                raise _Unknown
    if position != held.size:
        raise _Unknown


def _texts(page: pa.Buffer, rows: int, kind: pa.DataType, levels: int) -> ColumnValues:
    data = np.frombuffer(page, dtype=np.uint8)
    start = 0
    if levels == 1:
        # Which rows are NULL does not matter, only how many; the lengths below are of the others.
        start = 4 + int.from_bytes(bytes(data[:4]), "little")
    elif levels:
        raise _Unknown
    ends, start = _ends(data, start, rows)
    if ends[-1] != len(data) - start:
        raise _Unknown
    large = pa.large_string() if pa.types.is_string(kind) else pa.large_binary()
    parts = [None, pa.py_buffer(ends), page[start:]]
    count = len(ends) - 1
    return ColumnValues(pa.Array.from_buffers(large, count, parts), count, rows - count)


def _ends(data: np.ndarray, start: int, rows: int) -> tuple[np.ndarray, int]:
    """Where each text ends, by the lengths that begin at ``start``, and where those end."""
    head = bytes(data[start : start + _HEADER_MAX])
    per_block, at = _varint(head, 0)
    minis, at = _varint(head, at)
    count, at = _varint(head, at)
    first, at = _signed(head, at)
    if not minis or per_block % minis or not 0 < per_block // minis <= _MINI_MAX:
        raise _Unknown
    if not 0 < count <= rows <= _ROWS_MAX:
        raise _Unknown
    blocks = -(-(count - 1) // per_block)
    size = blocks * (1 + minis)
    start += at
    if first >= 0 and not data[start : start + size].any():
        # Each is as long as the one before: all blocks say a difference of none, in no bits.
        return _even(count, first), start + size
    kernels = loops(count)
    if kernels is None or (per_block // minis) % 32:
        raise _Unknown
    ends = np.zeros(count + 1, dtype=np.int64)
    start = kernels.ends_of(data, words_of(data), start, per_block, minis, first, ends)
    if start < 0:
        raise _Unknown
    return ends, start


@lru_cache(maxsize=8)
def _even(count: int, length: int) -> np.ndarray:
    """Where texts of one length end: row groups are alike, and new memory costs time."""
    return np.arange(count + 1, dtype=np.int64) * length


def _struct(data: bytes, depth: int = 0) -> tuple[dict[int, object], int]:
    """A Thrift struct in the compact protocol, by field numbers, and its length."""
    if depth > _DEPTH_MAX:
        raise _Unknown
    found: dict[int, object] = {}
    field, at = 0, 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            field += step
        else:
            field, at = _signed(data, at)
        if kind in _BOOLEANS:
            found[field] = kind == 1
        elif kind == _BYTE:
            found[field], at = data[at], at + 1
        elif kind in _INTEGERS:
            found[field], at = _signed(data, at)
        elif kind == _BINARY:
            length, at = _varint(data, at)
            found[field], at = data[at : at + length], at + length
        elif kind == _STRUCT:
            found[field], size = _struct(data[at:], depth + 1)
            at += size
        else:
            raise _Unknown
    return found, at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
