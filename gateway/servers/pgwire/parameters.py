"""Values of parameters as clients send them, text or binary, as Python values."""

from __future__ import annotations

import datetime as dt
import json
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from gateway.servers.pgwire import types
from gateway.servers.pgwire.far_moments import far_moment
from gateway.servers.pgwire.messages import BINARY, protocol_error
from gateway.servers.pgwire.network_binary import address_from_bytes
from gateway.servers.pgwire.values_binary import numeric_from
from journal.model.errors import Code, PalimpsestError
from journal.sql.array_text import parse_array
from journal.sql.interval_text import plain_interval
from journal.sql.jsonb_text import jsonb_text
from journal.sql.moment_text import iso_moment, iso_time
from journal.sql.network_text import CIDR

_DAY_ZERO = dt.date(2000, 1, 1)
_MOMENT_ZERO = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - of no zone
_DAY_US, _MIDNIGHT = 86_400_000_000, "24:00:00"
FIRST_OF_USERS = 16_384
"""The first number of a type that CREATE TYPE made."""
_TRUE = frozenset({"t", "true", "y", "yes", "on", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "off", "0"})


def value_of(data: bytes | None, oid: int, form: int) -> Any:
    """The value of a parameter; raises CONVERSION where the bytes are none of that type."""
    if data is None:
        return None
    kind = types.BY_OID.get(oid)
    element = types.ELEMENTS.get(oid)
    if kind is None and element is None and oid not in types.OTHER_TEXT and form == BINARY:
        raise protocol_error(f"a parameter has the type {oid}, whose binary format is unknown here")
    name = "text" if kind is None else kind.name
    try:
        if form == BINARY:
            return _array(data) if element is not None else _FROM_BINARY[name](data)
        text = _as_text(data.decode())
        if element is not None:
            return parse_array(text, _FROM_TEXT[element.name])
        return _FROM_TEXT[name](text)
    except UnicodeDecodeError as error:
        raise _no_text(data[error.start]) from error
    except (ValueError, OverflowError, InvalidOperation, struct.error, IndexError) as error:
        shown = (types.ELEMENTS[oid].name + "[]") if element is not None else name
        raise PalimpsestError(
            Code.CONVERSION,
            f"a parameter is no {shown}: {error}",
            advice="send a value of that type",
        ) from error


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return word in _TRUE


def _bytes(text: str) -> bytes:
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def _as_text(text: str) -> str:
    """The text, which has no zero byte; raises ENCODING, as PostgreSQL does."""
    if "\0" in text:
        raise _no_text(0)
    return text


def _no_text(byte: int) -> PalimpsestError:
    return PalimpsestError(
        Code.ENCODING,
        f'invalid byte sequence for encoding "UTF8": 0x{byte:02x}',
        advice="send text in UTF-8, without zero bytes; BYTEA takes any bytes",
    )


def _moment_text(text: str) -> str:
    """A date in the spelling that every store reads, for ``Jan 8, 1999`` too."""
    return iso_moment(text) or text


def _instant(text: str) -> dt.datetime | str:
    """A moment that names its zone is that instant, also for a column without zones."""
    spelled = _moment_text(text)
    try:
        found = dt.datetime.fromisoformat(spelled.strip())
    except ValueError:
        return spelled
    return spelled if found.tzinfo is None else found


def _time_text(text: str) -> str:
    return iso_time(text) or text


def _zoned_time_text(text: str) -> str:
    return iso_time(text, has_zone=True) or text


def _interval_text(text: str) -> str:
    return plain_interval(text) or text


def _number(text: str) -> int | Decimal | float:
    return Decimal(text.strip())


def _json(text: str) -> str:
    json.loads(text)
    return text


def _jsonb(text: str) -> str:
    spelled = jsonb_text(text)
    if spelled is None:
        raise ValueError(f"{text[:80]!r} is no JSON")
    return spelled


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "bool": _boolean,
    "bytea": _bytes,
    "int2": int,
    "int4": int,
    "int8": int,
    "oid": int,
    "float4": float,
    "float8": float,
    "numeric": _number,
    "text": _as_text,
    "json": _json,
    "jsonb": _jsonb,
    "uuid": uuid.UUID,
    "inet": _as_text,
    "cidr": _as_text,
    "date": _moment_text,
    "time": _time_text,
    "timetz": _zoned_time_text,
    "timestamp": _moment_text,
    "timestamptz": _instant,
    "interval": _interval_text,
    "bit": _as_text,
}


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _float(data: bytes) -> float:
    return float(struct.unpack("!f" if len(data) == 4 else "!d", data)[0])


def _date(data: bytes) -> dt.date | str:
    days = _integer(data)
    try:
        return _DAY_ZERO + dt.timedelta(days=days)
    except OverflowError:
        return _moment_text(far_moment(days, len(data)))


def _time(data: bytes) -> dt.time | str:
    micros = _integer(data)
    # Python has no such time of day.
    return _MIDNIGHT if micros == _DAY_US else (_MOMENT_ZERO + dt.timedelta(0, 0, micros)).time()


def _timetz(data: bytes) -> str:
    """In text, as DuckDB takes no time of Python's that is west of Greenwich."""
    zone = dt.timezone(dt.timedelta(seconds=-_integer(data[8:])))
    offset = dt.time(tzinfo=zone).isoformat()[8:]
    return f"{_time(data[:8])}{offset}"


def _timestamp(data: bytes) -> dt.datetime | str:
    micros = _integer(data)
    try:
        return _MOMENT_ZERO + dt.timedelta(microseconds=micros)
    except OverflowError:
        return _moment_text(far_moment(micros, len(data)))


def _timestamptz(data: bytes) -> dt.datetime | str:
    micros = _integer(data)
    try:
        return (_MOMENT_ZERO + dt.timedelta(microseconds=micros)).replace(tzinfo=dt.UTC)
    except OverflowError:
        return _instant(far_moment(micros, len(data), zone="+00"))


def _interval(data: bytes) -> str:
    micros, days, months = struct.unpack("!qii", data)
    return f"{months} months {days} days {micros} microseconds"


def _bits(data: bytes) -> str:
    (count,) = struct.unpack_from("!i", data)
    return "".join(f"{byte:08b}" for byte in data[4:])[:count]


def _array(data: bytes) -> list[Any]:
    dimensions, _, oid = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    if not 1 <= dimensions <= 6:
        raise ValueError(f"{dimensions} dimensions")
    sizes = [struct.unpack_from("!i", data, 12 + 8 * i)[0] for i in range(dimensions)]
    # In a list of texts, values of an enum are these.
    oid = types.TEXT.oid if oid >= FIRST_OF_USERS else oid
    at, items = 12 + 8 * dimensions, []
    while at < len(data):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        items.append(None if size < 0 else value_of(data[at : at + size], oid, BINARY))
        at += max(size, 0)
    for size in reversed(sizes[1:]):
        items = [items[i : i + size] for i in range(0, len(items), size)]
    return items


_FROM_BINARY: dict[str, Callable[[bytes], Any]] = {
    "bool": lambda data: data != b"\x00",
    "bytea": bytes,
    "int2": _integer,
    "int4": _integer,
    "int8": _integer,
    "oid": lambda data: int.from_bytes(data, "big"),
    "float4": _float,
    "float8": _float,
    "numeric": numeric_from,
    "text": lambda data: _as_text(data.decode()),
    "json": bytes.decode,
    "jsonb": lambda data: _jsonb(data[1:].decode()),
    "uuid": lambda data: uuid.UUID(bytes=data),
    "inet": address_from_bytes,
    "cidr": partial(address_from_bytes, kind=CIDR),
    "date": _date,
    "time": _time,
    "timetz": _timetz,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "bit": _bits,
}
