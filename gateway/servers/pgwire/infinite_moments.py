"""Finds infinite dates and timestamps in columns of results, as DuckDB encodes them.

DuckDB counts both infinities by the largest number of the type, with either sign.
Source: ``date_t::infinity`` and ``timestamp_t::infinity`` of DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class InfiniteMoments:
    """Which values of a column lie after, or before, all others; the ``column`` has NULL there."""

    column: pa.Array
    after: pa.Array
    before: pa.Array

    def put_into(self, written: pa.Array, after: bytes, before: bytes) -> pa.Array:
        """Values as they are ``written``, with the bytes of both infinities."""
        return pc.if_else(self.after, after, pc.if_else(self.before, before, written))


def infinite_moments(column: pa.Array) -> InfiniteMoments | None:
    """The infinite values of a column of dates or timestamps; None if there are none."""
    if not pa.types.is_date32(column.type) and not pa.types.is_timestamp(column.type):
        return None
    is_date = pa.types.is_date32(column.type)
    numbers = column.cast(pa.int32() if is_date else pa.int64())
    most = 2 ** (31 if is_date else 63) - 1
    ends = pc.min_max(numbers)
    if ends["max"].as_py() != most and ends["min"].as_py() != -most:
        return None
    after, before = (pc.fill_null(pc.equal(numbers, n), False) for n in (most, -most))
    finite = pc.if_else(pc.or_(after, before), pa.scalar(None, column.type), column)
    return InfiniteMoments(finite, after, before)


def python_values(column: pa.Array, moments: Callable[[pa.Array], list[Any]]) -> list[Any]:
    """The values of a column, also in lists; ``moments`` writes the dates and timestamps of lists.

    Python has not all the years of them.
    """
    if not pa.types.is_list(column.type):
        return list(column.to_pylist())
    items = column.values
    is_moment = pa.types.is_date32(items.type) or pa.types.is_timestamp(items.type)
    found = moments(items) if is_moment else python_values(items, moments)
    ends = zip(column.is_valid().to_pylist(), pairwise(column.offsets.to_pylist()), strict=True)
    return [found[start:end] if known else None for known, (start, end) in ends]
