"""Decimal numbers in PostgreSQL's binary format, a column at a time.

    numeric = digits (2 bytes), weight (2), sign (2), scale (2), then digits to base 10,000 (2 each)

Source: ``numeric_send``. Numbers of up to 18 digits are computed by numpy; larger ones one by one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_BASE = 10_000
_NEGATIVE = 0x4000
_HEAD_BYTES = 8
DIGITS_MAX = 18
"""What fits into a number of eight bytes."""
_PART_DIGITS_MAX = 16
"""What fits there in whole groups of four."""


def numeric_column(column: pa.Array) -> pa.Array:
    """The values of a ``decimal128`` column of at most ``DIGITS_MAX`` digits."""
    scale = column.type.scale
    numbers = _unscaled(column)
    groups = _groups(numbers, scale, column.type.precision - scale)
    width = groups.shape[1]
    first, last = _ends(groups)
    count = last - first + 1
    part_groups = -(-scale // 4)
    weight = np.where(count > 0, width - part_groups - 1 - first, 0)
    cells = np.empty((len(numbers), 4 + width), ">u2")
    cells[:, 0], cells[:, 1] = count, weight.astype(np.int16).view(np.uint16)
    cells[:, 2], cells[:, 3] = np.where(numbers < 0, _NEGATIVE, 0), scale
    cells[:, 4:] = groups
    kept = np.ones(cells.shape, np.bool_)
    for place in range(width):
        kept[:, 4 + place] = (first <= place) & (place <= last)
    offsets = np.zeros(len(numbers) + 1, np.int32)
    np.cumsum(_HEAD_BYTES + 2 * count, out=offsets[1:])
    data = np.ascontiguousarray(cells[kept])
    found = pa.Array.from_buffers(
        pa.binary(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    if column.null_count:
        return pa.compute.if_else(column.is_valid(), found, pa.scalar(None, pa.binary()))
    return found


def _ends(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the first and the last group that is not 0 are; 0 and -1 where there is none."""
    count, width = groups.shape
    first, last = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    for place in range(width):
        is_set = groups[:, place] != 0
        last[is_set] = place
        backwards = width - 1 - place
        first[groups[:, backwards] != 0] = backwards
    return first, last


def _unscaled(column: pa.Array) -> np.ndarray:
    """The numbers without their points, 0 for NULL."""
    cells = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    found = cells[column.offset : column.offset + len(column), 0].copy()
    if column.null_count:
        found[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return found


def _groups(numbers: np.ndarray, scale: int, whole_digits: int) -> np.ndarray:
    """Digits to base 10,000, the largest first: those before the point, then those behind it.

    No number has more than ``whole_digits`` decimal ones before the point.
    """
    whole, part = np.divmod(np.abs(numbers).astype(np.uint64), np.uint64(10**scale))
    found = []
    if scale > _PART_DIGITS_MAX:
        # All groups of the part together would not fit into eight bytes.
        rest = scale - _PART_DIGITS_MAX
        part, last = np.divmod(part, np.uint64(10**rest))
        found.append((last * np.uint64(10 ** (4 - rest))).astype(np.uint16))
        scale = _PART_DIGITS_MAX
    part_groups = -(-scale // 4)
    part = part * np.uint64(10 ** (part_groups * 4 - scale))
    for value, groups in ((part, part_groups), (whole, max(1, -(-whole_digits // 4)))):
        for _ in range(groups):
            value, digit = np.divmod(value, np.uint64(_BASE))
            found.append(digit.astype(np.uint16))
    return np.stack(found[::-1], axis=1)
