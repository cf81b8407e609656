"""Blocked Bloom filters over 64-bit hashes of column values, built and asked in whole arrays.

A filter is a row of blocks of 512 bits, one cache line each; a value sets ``probes`` bits of one
block. It never says no of a value it has seen. Pure: hashes in (see ``hashing``), bytes out.
"""

from __future__ import annotations

import math

import numpy as np

from journal.files.filters.hashing import Hashes
from journal.model.lazy_dataclass import dataclass

BLOCK_BITS = 512
_BLOCKS_MAX = 1 << 26
_WORD = (1 << 64) - 1
_COUNTED_MAX = 1 << 15
_CHUNK = 1 << 15
"""Values treated at a time, so that everything in between stays in the cache."""
_SPREAD = np.uint64(0xD6E8FEB86659FD93)


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

    def may_hold_one(self, value: int) -> bool:
        """The same for one hash: quicker than an array of one."""
        first = ((value >> 32) * self.blocks >> 32) * BLOCK_BITS
        spread = ((value ^ (value >> 29)) * int(_SPREAD) & _WORD) >> 1
        for _ in range(self.probes):
            place = first + spread % BLOCK_BITS
            if not self.bits[place >> 3] >> (place & 7) & 1:
                return False
            spread //= BLOCK_BITS
        return True

    def may_hold_any(self, hashes: Hashes) -> bool:
        """False only if none of the values was put in."""
        return bool(self.may_hold(hashes).any())


def build(hashes: Hashes, fpp: float, distinct: int | None = None) -> Bloom:
    """The filter of these values, which may repeat; ``distinct`` where the caller knows better.

    ``hashes`` may be sorted where they are, and are of no use afterwards.
    """
    count = max(1, distinct if distinct is not None else distinct_hashes(hashes))
    probes, blocks = size(count, fpp)
    # Bits are set block after block then, out of the cache.
    hashes.sort()
    return Bloom(blocks, probes, count, _bits_of(hashes, blocks, probes).tobytes())


def distinct_hashes(hashes: Hashes) -> int:
    """How many different ones there are; of many, as nearly as a thousandth.

    So many are not sorted for that: each sets one of as many bits, by its last bits, and how many
    bits stay clear says how many hashes met one that was set.
    """
    if len(hashes) <= _COUNTED_MAX:
        hashes.sort()
        return len(hashes) and 1 + int(np.count_nonzero(hashes[1:] != hashes[:-1]))
    room = 1 << (len(hashes) - 1).bit_length()
    marks = np.zeros(room, dtype=bool)
    marks[(hashes & np.uint64(room - 1)).view(np.int64)] = True
    found = int(np.count_nonzero(marks))
    return min(len(hashes), round(room * math.log(room / max(1, room - found))))


def _bits_of(hashes: Hashes, blocks: int, probes: int) -> np.ndarray:
    """The bits of a filter of so many blocks, eight to a byte."""
    marked = np.zeros(blocks * BLOCK_BITS, dtype=bool)
    for first in range(0, len(hashes), _CHUNK):
        start, spread = _places(hashes[first : first + _CHUNK], blocks)
        for probe in range(probes):
            marked[_place(start, spread, probe)] = True
    return np.packbits(marked, bitorder="little")


def size(distinct: int, fpp: float) -> tuple[int, int]:
    """Probes and blocks for so many values and such a share of false answers.

    Blocks fill unevenly, which costs about a factor of two in false answers; it is allowed for.
    """
    wanted = min(max(fpp, 1e-7), 0.5) / 2
    probes = min(7, max(3, round(-math.log2(wanted) * 0.55)))
    bits_each = -probes / math.log(1 - wanted ** (1 / probes))
    blocks = math.ceil(distinct * bits_each / BLOCK_BITS)
    return probes, min(max(1, blocks), _BLOCKS_MAX)


def _places(hashes: Hashes, blocks: int) -> tuple[Hashes, Hashes]:
    """The first bit of each hash's block, and fresh bits that say which ones to set in it."""
    block = (hashes >> np.uint64(32)) * np.uint64(blocks) >> np.uint64(32)
    return block << np.uint64(9), (hashes ^ (hashes >> np.uint64(29))) * _SPREAD


def _place(start: Hashes, spread: Hashes, probe: int) -> np.ndarray:
    bit = (spread >> np.uint64(1 + 9 * probe)) & np.uint64(BLOCK_BITS - 1)
    place: np.ndarray = (bit + start).view(np.int64)
    return place
