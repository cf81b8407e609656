"""A value of a result as text for people, as a CSV cell, and as JSON.

JSON keeps every digit: decimals are written as numbers with all their places, what JSON has no
number for (NaN, infinities) as a string, times in ISO 8601.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False).encode
_CONTROL = {n: f"\\x{n:02x}" for n in (*range(32), *range(127, 160))}
_CONTROL |= {9: "\\t", 10: "↵", 13: "\\r"}


def display_text(value: Any, null: str = "NULL") -> str:
    """A cell of a table: one line, and nothing in it that a terminal would obey."""
    return file_text(value, null).translate(_CONTROL)


def file_text(value: Any, null: str = "") -> str:
    """The text of a value as a file holds it."""
    if value is None:
        return null
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return _moment(value)
    if isinstance(value, dt.time) and value.tzinfo is None:
        return _short(value.isoformat())
    if isinstance(value, bytes | bytearray | memoryview):
        return "\\x" + bytes(value).hex()
    if isinstance(value, list | tuple | Mapping):
        return to_json(value)
    return str(value)


def _moment(value: dt.datetime) -> str:
    """A moment as databases write it: in the zone of the session that read it, with its offset."""
    offset = value.utcoffset()
    local = _short(value.replace(tzinfo=None).isoformat(" "))
    if offset is None:
        return local
    seconds = abs(int(offset.total_seconds()))
    parts = [seconds // 3600, seconds // 60 % 60, seconds % 60]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    sign = "-" if offset < dt.timedelta() else "+"
    return local + sign + ":".join(f"{part:02}" for part in parts)


def _short(text: str) -> str:
    """A time without zeros at the end of its fraction, as databases write it."""
    return text.rstrip("0") if "." in text else text


def to_json(value: Any) -> str:
    """A value as JSON text."""
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str or value is None or kind is bool:
        return _encode(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else json.dumps(str(value))
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else json.dumps(str(value))
    if isinstance(value, dt.date | dt.time):
        return json.dumps(value.isoformat())
    if isinstance(value, Mapping):
        pairs = (
            f"{json.dumps(str(k), ensure_ascii=False)}: {to_json(v)}" for k, v in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_json, value)) + "]"
    return json.dumps(file_text(value), ensure_ascii=False)
