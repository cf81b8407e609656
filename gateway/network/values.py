"""Values of Python as JSON and back, each as what it is: what a client may send to a server.

An object of JSON has one key, which says what its value stands for; everything else stands for
itself. Nothing that is read here names a class or runs code, so that either end may be anybody's.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from journal.model.errors import Code, PalimpsestError


def to_json(value: Any) -> str:
    """A value as text; raises PARAMETERS if it has a part of a type that cannot be sent."""
    return json.dumps(_encoded(value), ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The value of such a text; raises PROTOCOL for a text that is none."""
    try:
        return _decoded(json.loads(text))
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
        raise PalimpsestError(
            Code.PROTOCOL,
            f"a message of another program cannot be read: {error}",
            advice="use the same version of palimpsest in all programs",
        ) from error


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value if value is None or isinstance(value, bool) else _plain(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    elif type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return _encoded(value.item())
    for kind, name, encode in _ENCODERS:
        if isinstance(value, kind):
            return {name: encode(value)}
    raise PalimpsestError(
        Code.PARAMETERS,
        f"a value of the type {type(value).__name__} cannot be sent to the server",
        advice="convert it to a number, text, bytes, a moment, a list or a mapping of these",
    )


def _plain(value: int | str) -> int | str:
    """A number or text without the subclass that it may be of."""
    return int(value) if isinstance(value, int) else str.__str__(value)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, dict):
        ((name, given),) = value.items()
        return _DECODERS[name](given)
    return value


def _items(value: Any) -> list[Any]:
    return [_encoded(item) for item in value]


def _interval(value: dt.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode("ascii")


_ENCODERS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (tuple, "tuple", _items),
    (dict, "dict", lambda value: [[_encoded(k), _encoded(v)] for k, v in value.items()]),
    (Decimal, "decimal", str),
    (dt.datetime, "datetime", dt.datetime.isoformat),
    (dt.date, "date", dt.date.isoformat),
    (dt.time, "time", dt.time.isoformat),
    (dt.timedelta, "interval", _interval),
    (bytes | bytearray | memoryview, "bytes", _base64),
    (uuid.UUID, "uuid", str),
    (set, "set", _items),
    (frozenset, "frozenset", _items),
)
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda given: tuple(_decoded(given)),
    "dict": lambda given: {_decoded(key): _decoded(value) for key, value in given},
    "decimal": Decimal,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "interval": lambda given: dt.timedelta(*given),
    "bytes": base64.b64decode,
    "uuid": uuid.UUID,
    "set": lambda given: set(_decoded(given)),
    "frozenset": lambda given: frozenset(_decoded(given)),
}
