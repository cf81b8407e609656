"""Times of day with their distance from UTC, as stores give them: Arrow has no type of it. Pure.

DuckDB gives eight bytes: the microseconds of the day in the upper 40 bits, and below them the
distance in seconds, counted down from the largest (``dtime_tz_t`` of its sources). PostgreSQL
gives texts.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

NAMES = frozenset({"TIME WITH TIME ZONE", "TIMETZ"})
"""What the type of such a column is called."""
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?")
_OFFSET_BITS, _OFFSET_MAX_S = 24, 16 * 3600 - 1


def zoned_time_texts(column: pa.Array) -> pa.Array:
    """A column of one of ``NAMES`` as texts.

    >>> zoned_time_texts(pa.array([bytes.fromhex("a79300008e8db213")], pa.binary(8))).to_pylist()
    ['23:30:00+05:30']
    """
    return pa.array([_text(value) for value in column.to_pylist()], pa.string())


def micros_and_offset(text: str) -> tuple[int, int]:
    """The microseconds since midnight and the seconds east of UTC of such a text."""
    found = _TIME.fullmatch(text)
    assert found is not None, text
    hour, minute, second, *east = (int(part or 0) for part in found.group(1, 2, 3, 6, 7, 8))
    micros = (hour * 3600 + minute * 60 + second) * 1_000_000 + int((found[4] or "").ljust(6, "0"))
    offset = east[0] * 3600 + east[1] * 60 + east[2]
    return micros, -offset if found[5] == "-" else offset


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        packed = int.from_bytes(value, "little")
        micros, counted = packed >> _OFFSET_BITS, packed & ((1 << _OFFSET_BITS) - 1)
        return _time_text(micros, _OFFSET_MAX_S - counted)
    return _time_text(*micros_and_offset(value if isinstance(value, str) else value.isoformat()))


def _time_text(micros: int, offset: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    time = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    if fraction:
        time += f".{fraction:06}".rstrip("0")
    east = abs(offset)
    zone = f"{'-' if offset < 0 else '+'}{east // 3600:02}"
    if east % 3600:
        zone += f":{east % 3600 // 60:02}"
    return time + zone + (f":{east % 60:02}" if east % 60 else "")
