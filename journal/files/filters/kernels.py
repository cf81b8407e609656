"""The loops behind filters, compiled by numba: what ``hashing`` and ``bloom`` say in numpy.

Each gives bit for bit what numpy gives; nothing here is called but by way of ``compiled``, which
holds the one against the other before it hands this out. Indices are unsigned where numba would
else look for negative ones at every access. Allocates little, checks no types, decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba
import numpy as np

from journal.files.filters.bloom import SPREAD
from journal.files.filters.hashing import GOLDEN, MIX_1, MIX_2

_Loop = TypeVar("_Loop", bound=Callable[..., object])
_NUMBERS = "uint64[::1]"
_ENDS = numba.types.Array(numba.int64, 1, "C", readonly=True)
_BYTES = numba.types.Array(numba.uint8, 1, "C", readonly=True)
_WORDS = numba.types.Array(numba.uint64, 1, "A", readonly=True, aligned=False)
_HASHES = numba.types.Array(numba.uint64, 1, "C", readonly=True)
_VARINT_BITS = 63
_WIDTH_MAX = 32
_TEXTS = 256
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES_HALF, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
"""By which the bits of a word are counted: two, four and eight of them at a time."""


def _jit(*signature: object) -> Callable[[_Loop], _Loop]:
    """Compiled now, or found compiled by an earlier process; other threads run meanwhile."""
    made: Callable[[_Loop], _Loop] = numba.njit(*signature, nogil=True, cache=True)
    return made


@_jit(numba.uint64(numba.uint64))
def _mixed(value: np.uint64) -> np.uint64:
    value ^= value >> np.uint64(30)
    value *= MIX_1
    value ^= value >> np.uint64(27)
    value *= MIX_2
    return value ^ (value >> np.uint64(31))


@_jit(numba.void(_HASHES, numba.uint64[::1]))
def hash_whole(numbers: np.ndarray, out: np.ndarray) -> None:
    """The hashes of whole numbers, each as 64 bits."""
    for row in range(np.uint64(len(out))):
        out[row] = _mixed(numbers[row] * GOLDEN + GOLDEN)


@_jit(numba.int64(_WORDS, _ENDS, numba.uint64[::1]))
def _of_one_length(words: np.ndarray, ends: np.ndarray, out: np.ndarray) -> int:
    """The hashes of texts that are all equally long; of how many, the last ones are left out.

    One word of some hundred texts after the other, so that many are under way at once.
    """
    length = np.uint64(ends[1] - ends[0])
    others = 0
    for row in range(np.uint64(len(out))):
        others += np.uint64(ends[row + np.uint64(1)] - ends[row]) != length
    if others or not length or np.uint64(len(words)) < length:
        return 0
    begin = np.uint64(ends[0])
    # Texts whose last word begins where a word does.
    count = min(np.uint64(len(out)), (np.uint64(len(words)) - begin) // length)
    first = np.uint64(0)
    while first < count:
        behind = min(count, first + np.uint64(_TEXTS))
        for row in range(first, behind):
            out[row] = length * GOLDEN
        for at in range(np.uint64(0), length, np.uint64(8)):
            left = min(np.uint64(8), length - at)
            missing = np.uint64(64) - np.uint64(8) * left
            for row in range(first, behind):
                value = (out[row] ^ (words[begin + at + row * length] << missing)) * MIX_1
                out[row] = (value ^ (value >> np.uint64(32))) * GOLDEN
        for row in range(first, behind):
            out[row] = _mixed(out[row])
        first = behind
    return int(np.int64(count))


@_jit(numba.void(_WORDS, _ENDS, numba.uint64[::1]))
def hash_text(words: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    """The hashes of texts: ``words`` begin at each byte, ``ends`` say where texts begin and end.

    The last seven bytes begin no word; what begins there is the end of the last one.
    """
    last = np.uint64(len(words) - 1)
    done = _of_one_length(words, ends, out)
    end = np.uint64(ends[done])
    for row in range(np.uint64(done), np.uint64(len(out))):
        at = end
        end = np.uint64(ends[row + np.uint64(1)])
        length = end - at
        value = length * GOLDEN
        for _ in range(length >> np.uint64(3)):
            value = (value ^ words[at]) * MIX_1
            value = (value ^ (value >> np.uint64(32))) * GOLDEN
            at += np.uint64(8)
        left = end - at
        if left or not length:
            word = np.uint64(0)
            if left:
                word = words[at] if at <= last else words[last] >> np.uint64(8) * (at - last)
                word <<= np.uint64(64) - np.uint64(8) * left
            value = (value ^ word) * MIX_1
            value = (value ^ (value >> np.uint64(32))) * GOLDEN
        out[row] = _mixed(value)


@_jit(numba.int64(_HASHES, numba.uint64[::1]))
def count_marks(hashes: np.ndarray, marks: np.ndarray) -> int:
    """Set a bit for each hash, by its last bits; how many bits that sets. ``marks`` are of 2**n."""
    mask = np.uint64(len(marks)) * np.uint64(64) - np.uint64(1)
    for row in range(np.uint64(len(hashes))):
        value = hashes[row] & mask
        marks[value >> np.uint64(6)] |= np.uint64(1) << (value & np.uint64(63))
    count = np.uint64(0)
    for place in range(np.uint64(len(marks))):
        word = marks[place]
        word -= (word >> np.uint64(1)) & _PAIRS
        word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
        word = (word + (word >> np.uint64(4))) & _BYTES_HALF
        count += (word * _ONES) >> np.uint64(56)
    return int(np.int64(count))


@_jit(numba.void(_HASHES, numba.uint64, numba.uint64, numba.uint64[::1]))
def set_bits(hashes: np.ndarray, blocks: int, probes: int, bits: np.ndarray) -> None:
    """Set the bits of hashes in a filter of so many blocks."""
    for row in range(np.uint64(len(hashes))):
        value = hashes[row]
        block = ((value >> np.uint64(32)) * blocks >> np.uint64(32)) << np.uint64(3)
        spread = (value ^ (value >> np.uint64(29))) * SPREAD >> np.uint64(1)
        for _ in range(probes):
            bit = spread & np.uint64(511)
            bits[block + (bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))
            spread >>= np.uint64(9)


@_jit(numba.types.UniTuple(numba.int64, 2)(_BYTES, numba.int64))
def _varint(data: np.ndarray, at: int) -> tuple[int, int]:
    """A number, and where the next thing is; that is -1 if the number is none."""
    value = 0
    shift = 0
    while at < len(data) and shift < _VARINT_BITS:
        byte = int(data[at])
        value |= (byte & 127) << shift
        at += 1
        shift += 7
        if byte < 128:
            return value, at
    return 0, -1


@_jit(
    numba.int64(
        _BYTES, _WORDS, numba.int64, numba.int64, numba.int64, numba.int64, numba.int64[::1]
    )
)
def ends_of(
    data: np.ndarray,
    words: np.ndarray,
    at: int,
    per_block: int,
    minis: int,
    first: int,
    ends: np.ndarray,
) -> int:
    """Where texts end whose lengths lie in blocks of DELTA_BINARY_PACKED; -1 if they do not.

    Returns where what follows the blocks begins. ``ends[0]`` is 0, and there is at least one text.
    """
    per_mini = per_block // minis
    count = len(ends) - 1
    length, total, row = first, first, 1
    if first < 0:
        return -1
    ends[1] = total
    while row < count:
        packed, at = _varint(data, at)
        low = (packed >> 1) ^ -(packed & 1)
        widths = at
        at += minis
        if widths < 0 or at > len(data):
            return -1
        for mini in range(minis):
            if row == count:
                break
            width = int(data[widths + mini])
            after = at + width * (per_mini // 8)
            if width > _WIDTH_MAX or (width and after > len(words)):
                return -1
            mask = (1 << width) - 1
            for bit in range(0, max(1, width) * min(per_mini, count - row), max(1, width)):
                if width:
                    word = words[np.uint64(at + (bit >> 3))] >> np.uint64(bit & 7)
                    length += int(np.int64(word) & mask)
                length += low
                if length < 0:
                    return -1
                total += length
                row += 1
                ends[row] = total
            at = after
    return at
