"""How a value from a result becomes text that can be compared; never talks to a database.

`render` is what logic files show. `tagged` adds the kind of the value, so that 1, '1' and 1.0
differ: the differential tests compare that.
"""

import datetime
import decimal
import math
import uuid
from collections.abc import Iterable

NULL_TEXT = "NULL"
EMPTY_TEXT = "(empty)"
FLOAT_DIGITS = 10


def render(value: object) -> str:
    """Return the text of a value as logic files write it, on one line and without tabs."""
    if isinstance(value, str):
        return _render_text(value)
    return _render_plain(value)


def tagged(value: object) -> str:
    """Return the text of a value with its kind letter: equal exactly when kind and text are."""
    return f"{kind_of(value)}:{render(value)}"


def kind_of(value: object) -> str:
    """Return the letter logic files use for a value's kind; `?` for NULL, which has none."""
    if value is None:
        return "?"
    for kind, classes in _KINDS:
        if isinstance(value, classes):
            return kind
    return "T"


def render_row(row: Iterable[object]) -> str:
    """Return a row as logic files write it: its values, separated by tabs."""
    return "\t".join(render(value) for value in row)


def _render_text(value: str) -> str:
    if value == "":
        return EMPTY_TEXT
    escaped = value.replace("\\", "\\\\").replace("\t", "\\t")
    return escaped.replace("\n", "\\n").replace("\r", "\\r")


def _render_plain(value: object) -> str:
    match value:
        case None:
            return NULL_TEXT
        case bool():
            return "true" if value else "false"
        case float():
            return _render_float(value)
        case decimal.Decimal():
            return format(value, "f")
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case datetime.datetime():
            return _render_timestamp(value)
        case datetime.timedelta():
            return f"{value.days} days {value.seconds}.{value.microseconds:06d} s"
        case list() | tuple():
            return "[" + ", ".join(render(item) for item in value) + "]"
        case dict():
            pairs = (f"{render(key)}: {render(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return _render_text(str(value))


def _render_float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if value == 0:
        return "0"
    return format(value, f".{FLOAT_DIGITS}g")


def _render_timestamp(value: datetime.datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(sep=" ")
    return value.astimezone(datetime.UTC).isoformat(sep=" ")


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("B", (bool,)),
    ("I", (int,)),
    ("R", (float,)),
    ("M", (decimal.Decimal,)),
    ("T", (str, uuid.UUID)),
    ("X", (bytes, bytearray, memoryview)),
    ("D", (datetime.date, datetime.time, datetime.timedelta)),
    ("N", (list, tuple, dict)),
)
