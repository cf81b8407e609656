"""Hashes of column values, 64 bits each, taken over whole arrays.

Filters hold them, and files hold filters, so a value has the same hash for ever: whole numbers by
value (the width of their type does not matter), text and bytes by their bytes. Values are hashed
here and nowhere else. Pure: Arrow arrays in.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from journal.identity.identifiers import SEPARATORS, form_of
from journal.identity.normalisers import ALPHANUMERIC, DIGITS, LOWER, Normaliser

_CHUNK = 1 << 15
"""Values treated at a time, so that everything in between stays in the cache."""
_WORD = 8
_KNOWN = {DIGITS: r"\A[0-9]+\z", ALPHANUMERIC: r"\A[0-9a-z]+\z"}
"""What is left without separators of text that a normaliser understands; see ``identifiers``."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

Hashes = np.ndarray
"""An array of uint64."""


def can_hash(kind: pa.DataType) -> bool:
    """True for whole numbers, dates, booleans, text and bytes."""
    return _is_whole(kind) or _is_text(kind)


def hash_rows(values: pa.Array | pa.ChunkedArray) -> Hashes:
    """One hash for each value; the type can be hashed, and none is NULL."""
    found = np.empty(len(values), dtype=np.uint64)
    hash_into(values, found)
    return found


def hash_into(values: pa.Array | pa.ChunkedArray, out: Hashes) -> None:
    """The same into an array that is there: one as long as there are values."""
    first = 0
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        behind = first + len(chunk)
        into = _hash_whole if _is_whole(chunk.type) else _hash_text
        into(chunk, out[first:behind])
        first = behind


def combine(first: Hashes, second: Hashes) -> Hashes:
    """The hashes of pairs: of a key of several columns."""
    return _mixed(first * _GOLDEN + second)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_boolean(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(kind))


def _hash_whole(values: pa.Array, out: Hashes) -> None:
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.int32())
    numbers = values.to_numpy(zero_copy_only=False)
    wide = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64).view(np.uint64)
    out[:] = _mixed(wide * _GOLDEN + _GOLDEN)


def _hash_text(values: pa.Array, out: Hashes) -> None:
    """Values are read where they lie, a word at a time."""
    if not len(values):
        return
    if not _is_large(values.type):
        values = values.cast(pa.large_binary())
    ends = np.frombuffer(values.buffers()[1], dtype=np.int64)
    ends = ends[values.offset : values.offset + len(values) + 1]
    stored = values.buffers()[2]
    data = np.empty(0, dtype=np.uint8) if stored is None else np.frombuffer(stored, dtype=np.uint8)
    # The word of a last value may reach out of the buffer: such are copied to where there is room.
    inside = int(np.searchsorted(ends[1:], len(data) - _WORD, side="right"))
    for first in range(0, inside, _CHUNK):
        behind = min(first + _CHUNK, inside)
        out[first:behind] = _hash_words(_words_of(data), ends[first : behind + 1])
    if inside < len(ends) - 1:
        begin, end = int(ends[inside]), int(ends[-1])
        room = np.zeros(end - begin + _WORD, dtype=np.uint8)
        room[: end - begin] = data[begin:end]
        out[inside:] = _hash_words(_words_of(room), ends[inside:] - begin)


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _words_of(data: np.ndarray) -> np.ndarray:
    """The eight bytes that begin at each byte, as one number; at least eight there are."""
    return np.ndarray((len(data) - _WORD + 1,), dtype="<u8", buffer=data, strides=(1,))


def _hash_words(words: np.ndarray, ends: np.ndarray) -> Hashes:
    """Eight bytes of every value at a time; the end of a value is masked off.

    ``words`` begin at each byte, ``ends`` say where values begin and end; there is a value.
    """
    left = np.diff(ends)
    hashes = left.astype(np.uint64) * _GOLDEN
    if left.min() == left.max():
        return _mixed(_of_one_length(hashes, words[int(ends[0]) :], int(left[0])))
    return _mixed(_of_lengths(hashes, words, ends[:-1], left))


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


def normalised(
    values: pa.Array | pa.ChunkedArray, normaliser: Normaliser
) -> pa.Array | pa.ChunkedArray:
    """Texts in the form in which a normaliser compares them; none is NULL."""
    import pyarrow.compute as pc

    if normaliser == LOWER:
        return pc.ascii_lower(pc.ascii_trim_whitespace(values))
    if normaliser in _KNOWN:
        bare = pc.replace_substring_regex(values, f"[{re.escape(SEPARATORS)}]", "")
        bare = bare if normaliser == DIGITS else pc.ascii_lower(bare)
        return pc.if_else(pc.match_substring_regex(bare, _KNOWN[normaliser]), bare, values)
    return pa.array(map(form_of(normaliser), values.to_pylist()), values.type)
