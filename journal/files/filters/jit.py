"""Whether the loops of filters run compiled: loaded late, once they earn it, checked before use.

numba is an extra. Loading it takes some tenths of a second, and seconds the first time on a
machine; numpy does the same work, so a process that hashes little never loads it. What is built is
the same bit for bit. Where numba is missing, cannot keep what it compiled, or gives another answer
than numpy, numpy it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

EARNED_AT = 8_000_000
"""Values hashed in a process before it loads the compiled loops: they save as much by then."""
WORTH = 4096
"""Fewer values than this are left to numpy."""


class _Loops:
    """What this process has loaded; None while it has not, or cannot."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.module: ModuleType | None = None
        self.is_asked = False
        self.values = 0


_loops = _Loops()


def expect(values: int) -> None:
    """So many values are about to be hashed; who comes while another loads goes on with numpy."""
    _loops.values += values
    if _loops.values >= EARNED_AT and _loops.lock.acquire(blocking=False):
        try:
            _load()
        finally:
            _loops.lock.release()


def load() -> bool:
    """Load the compiled loops now; False if there are none here."""
    with _loops.lock:
        _load()
        return _loops.module is not None


def loops(values: int) -> ModuleType | None:
    """The module ``kernels``, if it is loaded and so many values are worth a call."""
    return _loops.module if values >= WORTH else None


@contextmanager
def left_to_numpy() -> Iterator[None]:
    """Within this block numpy does all the work: to be held against."""
    kept, _loops.module, _loops.is_asked = (_loops.module, _loops.is_asked), None, True
    try:
        yield
    finally:
        _loops.module, _loops.is_asked = kept


def _load() -> None:
    if _loops.is_asked:
        return
    _loops.is_asked = True
    try:
        from numba.core.errors import NumbaError
    except ImportError:
        # Not installed, or not for this numpy.
        return
    try:
        from journal.files.filters import kernels
    except (NumbaError, OSError, RuntimeError):
        # A compiler that does not take them, or no folder to keep compiled code in.
        return
    if _agrees(kernels):
        _loops.module = kernels


def _agrees(kernels: ModuleType) -> bool:
    """Whether the loops say what numpy says of values of all lengths."""
    from journal.files.filters import bloom, hashing

    data = np.frombuffer(np.arange(2048, dtype="<u8").tobytes(), dtype=np.uint8)
    ends = np.cumsum(np.arange(-1, 99) % 41, dtype=np.int64)
    words = hashing.words_of(data)
    theirs, whole = np.empty(len(ends) - 1, dtype=np.uint64), np.empty(len(words), dtype=np.uint64)
    kernels.hash_text(words, ends, theirs)
    kernels.hash_whole(np.ascontiguousarray(words), whole)
    bits, room = np.zeros(64 * bloom.BLOCK_BITS // 64, dtype="<u8"), 1 << 14
    kernels.set_bits(whole, 64, 5, bits)
    pairs: list[tuple[np.ndarray, np.ndarray]] = [
        (theirs, hashing.hash_words(words, ends)),
        (whole, hashing.hash_numbers(words)),
        (bits.view(np.uint8), bloom.bits_of(whole, 64, 5)),
        (
            np.array(kernels.count_marks(whole, np.zeros(room // 64, dtype="<u8"))),
            np.array(bloom.marked(whole, room)),
        ),
    ]
    longer = hashing.words_of(np.frombuffer(np.arange(4096, dtype="<u8").tobytes(), dtype=np.uint8))
    for length in range(40):
        even = np.arange(600, dtype=np.int64) * length
        of_even = np.empty(len(even) - 1, dtype=np.uint64)
        kernels.hash_text(longer, even, of_even)
        pairs.append((of_even, hashing.hash_words(longer, even)))
    return all(np.array_equal(ours, numpy) for ours, numpy in pairs)
