"""Blocked Bloom filters over 64-bit hashes of column values, built and asked in whole arrays.

A filter is a row of blocks of 512 bits, one cache line each; a value sets ``probes`` bits of one
block. It never says no of a value it has seen. Values are hashed here and nowhere else, so what one
process builds any other can ask: whole numbers by value (the width of their type does not matter),
text and bytes by their bytes. Pure: Arrow arrays in, numpy inside, bytes out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BLOCK_BITS = 512
_BLOCK_BYTES = BLOCK_BITS // 8
_BLOCKS_MAX = 1 << 26
_CHUNK = 1 << 15
"""Values treated at a time, so that everything in between stays in the cache."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)

Hashes = np.ndarray
"""An array of uint64."""


@dataclass(frozen=True, slots=True)
class Bloom:
    """A filter: how many blocks and probes, how many distinct values were put in, the bits."""

    blocks: int
    probes: int
    distinct: int
    bits: bytes

    def may_hold(self, hashes: Hashes) -> np.ndarray:
        """For each hash, False only if no value with it was put in."""
        found = np.ones(len(hashes), dtype=bool)
        bits = np.frombuffer(self.bits, dtype=np.uint8)
        start, spread = _places(hashes, self.blocks)
        for probe in range(self.probes):
            place = _place(start, spread, probe)
            found &= (bits[place >> 3] >> (place & 7).astype(np.uint8)) & 1 == 1
        return found

    def may_hold_any(self, hashes: Hashes) -> bool:
        """False only if none of the values was put in."""
        return bool(self.may_hold(hashes).any())


def build(hashes: Hashes, fpp: float, distinct: int | None = None) -> Bloom:
    """The filter of these values, which may repeat; ``distinct`` where the caller knows better.

    Sorted, values that repeat are found, and bits are set block after block, out of the cache.
    """
    hashes = _once(hashes)
    count = max(1, distinct if distinct is not None else len(hashes))
    probes, blocks = size(count, fpp)
    marked = np.zeros(blocks * BLOCK_BITS, dtype=bool)
    for first in range(0, len(hashes), _CHUNK):
        start, spread = _places(hashes[first : first + _CHUNK], blocks)
        for probe in range(probes):
            marked[_place(start, spread, probe)] = True
    return Bloom(blocks, probes, count, np.packbits(marked, bitorder="little").tobytes())


def _once(hashes: Hashes) -> Hashes:
    """Every hash once, in order."""
    ordered = np.sort(hashes)
    is_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def size(distinct: int, fpp: float) -> tuple[int, int]:
    """Probes and blocks for so many values and such a share of false answers.

    Blocks fill unevenly, which costs about a factor of two in false answers; it is allowed for.
    """
    wanted = min(max(fpp, 1e-7), 0.5) / 2
    probes = min(7, max(3, round(-math.log2(wanted) * 0.55)))
    bits_each = -probes / math.log(1 - wanted ** (1 / probes))
    blocks = math.ceil(distinct * bits_each / BLOCK_BITS)
    return probes, min(max(1, blocks), _BLOCKS_MAX)


def hash_values(values: pa.Array | pa.ChunkedArray) -> Hashes | None:
    """Hashes of the values that are not NULL; None for a type that cannot be hashed."""
    return None if not can_hash(values.type) else hash_rows(values.drop_null())


def can_hash(kind: pa.DataType) -> bool:
    """True for whole numbers, dates, booleans, text and bytes."""
    return _is_whole(kind) or _is_text(kind)


def hash_rows(values: pa.Array | pa.ChunkedArray) -> Hashes:
    """One hash for each value; the type can be hashed, and none is NULL."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    if not chunks:
        return np.empty(0, dtype=np.uint64)
    if _is_whole(values.type):
        return np.concatenate([_hash_whole(c) for c in chunks])
    found = [_hash_text(c[i : i + _CHUNK]) for c in chunks for i in range(0, len(c), _CHUNK)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


def combine(first: Hashes, second: Hashes) -> Hashes:
    """The hashes of pairs: of a key of several columns."""
    return _mixed(first * _GOLDEN + second)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_boolean(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _hash_whole(values: pa.Array) -> Hashes:
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.int32())
    numbers = values.to_numpy(zero_copy_only=False)
    wide = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64).view(np.uint64)
    return _mixed(wide * _GOLDEN + _GOLDEN)


def _hash_text(values: pa.Array) -> Hashes:
    """Eight bytes of every value at a time; the end of a value is masked off."""
    values = values.cast(pa.large_binary())
    ends = np.frombuffer(values.buffers()[1], dtype=np.int64)
    ends = ends[values.offset : values.offset + len(values) + 1]
    first, last = int(ends[0]), int(ends[-1])
    data = np.zeros(last - first + 8, dtype=np.uint8)
    stored = values.buffers()[2]
    if stored is not None:
        data[: last - first] = np.frombuffer(stored, dtype=np.uint8)[first:last]
    words: np.ndarray = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
    left = np.diff(ends)
    hashes = left.astype(np.uint64) * _GOLDEN
    if len(left) and left.min() == left.max():
        return _mixed(_of_one_length(hashes, words, int(left[0])))
    return _mixed(_of_lengths(hashes, words, ends[:-1] - first, left))


def _of_one_length(hashes: Hashes, words: np.ndarray, length: int) -> Hashes:
    """Values that are all so many bytes long lie at equal distances: nothing is looked up."""
    if not length:
        return _with_word(hashes, np.zeros_like(hashes))
    for at in range(0, length, 8):
        word = words[at::length][: len(hashes)]
        missing = 8 - (length - at)
        hashes = _with_word(hashes, word << np.uint64(8 * missing) if missing > 0 else word)
    return hashes


def _of_lengths(hashes: Hashes, words: np.ndarray, place: np.ndarray, left: np.ndarray) -> Hashes:
    rows: np.ndarray | slice = slice(None)
    while len(place):
        word = words[place]
        if left.min() < 8:
            missing = np.clip(8 - left, 0, 7).astype(np.uint64) * np.uint64(8)
            word = np.where(left > 0, word << missing, np.uint64(0))
        hashes[rows] = _with_word(hashes[rows], word)
        longer = np.flatnonzero(left > 8)
        if len(longer) == len(left):
            place, left = place + 8, left - 8
            continue
        rows = longer if isinstance(rows, slice) else rows[longer]
        place, left = place[longer] + 8, left[longer] - 8
    return hashes


def _with_word(hashes: Hashes, word: np.ndarray) -> Hashes:
    """The hashes with one more word taken in; they are changed in place."""
    hashes ^= word
    hashes *= _MIX_1
    hashes ^= hashes >> np.uint64(32)
    hashes *= _GOLDEN
    return hashes


def _mixed(value: Hashes) -> Hashes:
    """The hashes with their bits spread; they are changed in place."""
    value ^= value >> np.uint64(30)
    value *= _MIX_1
    value ^= value >> np.uint64(27)
    value *= _MIX_2
    value ^= value >> np.uint64(31)
    return value


def _places(hashes: Hashes, blocks: int) -> tuple[Hashes, Hashes]:
    """The first bit of each hash's block, and fresh bits that say which ones to set in it."""
    block = (hashes >> np.uint64(32)) * np.uint64(blocks) >> np.uint64(32)
    return block << np.uint64(9), (hashes ^ (hashes >> np.uint64(29))) * _SPREAD


def _place(start: Hashes, spread: Hashes, probe: int) -> np.ndarray:
    bit = (spread >> np.uint64(1 + 9 * probe)) & np.uint64(BLOCK_BITS - 1)
    place: np.ndarray = (bit + start).view(np.int64)
    return place


def folded(values: pa.Array) -> pa.Array:
    """Text without blanks around it and with ASCII letters small; the form ``LOWER`` compares."""
    return pc.ascii_lower(pc.ascii_trim_whitespace(values))
