"""Messages of the PostgreSQL protocol 3 as bytes; no sockets, no sessions.

    message = type (1 byte), length of what follows with itself (4 bytes, big-endian), body

Source: PostgreSQL's documentation, "Frontend/Backend Protocol", message formats.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_INT16, _INT32 = struct.Struct("!h"), struct.Struct("!i")
_FIELD = struct.Struct("!ihihih")
TEXT, BINARY = 0, 1
"""Formats of values."""

AUTHENTICATION_OK = b"R\x00\x00\x00\x08\x00\x00\x00\x00"
PARSE_COMPLETE = b"1\x00\x00\x00\x04"
BIND_COMPLETE = b"2\x00\x00\x00\x04"
CLOSE_COMPLETE = b"3\x00\x00\x00\x04"
NO_DATA = b"n\x00\x00\x00\x04"
EMPTY_QUERY = b"I\x00\x00\x00\x04"
PORTAL_SUSPENDED = b"s\x00\x00\x00\x04"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name, and its type as PostgreSQL numbers it.

    ``size`` is the type's length in bytes, -1 if it varies; ``modifier`` its precision and scale or
    length, as PostgreSQL encodes them. ``table`` and ``place`` are the number of the table and of
    the column in it that the values are from, 0 if they are none's.
    """

    name: str
    oid: int
    size: int
    modifier: int = -1
    table: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepare a statement; ``oids`` are the types of its first parameters, 0 for unknown ones."""

    name: str
    text: str
    oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Make a portal of a prepared statement; ``values`` are bytes in ``formats``, None for NULL."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


class BodyReader:
    """Reads the parts of one message's body; raises PROTOCOL where it ends too soon."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def byte(self) -> bytes:
        """One byte."""
        return self.take(1)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        found = self._body[self._at : self._at + size]
        if size < 0 or len(found) < size:
            raise protocol_error("a message ends before its last field")
        self._at += size
        return found

    def int16(self) -> int:
        """A signed number of two bytes."""
        return int(_INT16.unpack(self.take(2))[0])

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int(_INT32.unpack(self.take(4))[0])

    def text(self) -> str:
        """Text up to its zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise protocol_error("a text in a message has no end")
        found, self._at = self._body[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError as error:
            raise PalimpsestError(
                Code.ENCODING,
                f"a text in a message is not UTF-8: {error.reason} at byte {error.start}",
                advice="set client_encoding to UTF8",
            ) from error

    def counted(self) -> tuple[int, ...]:
        """Numbers of two bytes, after how many there are."""
        return tuple(self.int16() for _ in range(self.count()))

    def count(self) -> int:
        """How many parts follow."""
        found = self.int16() & 0xFFFF
        if found > len(self._body):
            raise protocol_error("a message announces more parts than it has bytes")
        return found


def read_parse(body: bytes) -> Parse:
    """A Parse message."""
    reader = BodyReader(body)
    name, text = reader.text(), reader.text()
    return Parse(name, text, tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count())))


def read_bind(body: bytes) -> Bind:
    """A Bind message."""
    reader = BodyReader(body)
    portal, statement, formats = reader.text(), reader.text(), reader.counted()
    values: list[bytes | None] = []
    for _ in range(reader.count()):
        size = reader.int32()
        values.append(None if size == -1 else reader.take(size))
    return Bind(portal, statement, formats, tuple(values), reader.counted())


def read_named(body: bytes) -> tuple[str, str]:
    """What a Describe or Close names: ``S`` or ``P``, and a name."""
    reader = BodyReader(body)
    kind = reader.byte().decode("latin-1")
    if kind not in {"S", "P"}:
        raise protocol_error(f"there is no kind {kind!r} of things with names")
    return kind, reader.text()


def message(kind: bytes, *parts: bytes) -> bytes:
    """A message of that type."""
    body = b"".join(parts)
    return kind + _INT32.pack(len(body) + 4) + body


def zero(text: str) -> bytes:
    """Text as a message holds it; a zero byte would end it."""
    return text.replace("\0", "").encode(errors="replace") + b"\0"


def parameter_status(name: str, value: str) -> bytes:
    """The value of a setting that drivers look at."""
    return message(b"S", zero(name), zero(value))


def backend_key(pid: int, secret: bytes) -> bytes:
    """What a cancel request has to name."""
    return message(b"K", _INT32.pack(pid), secret)


def ready(status: str) -> bytes:
    """The server waits for a query; ``status`` is I, T or E."""
    return message(b"Z", status.encode())


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """The columns of the rows that follow, each with its format."""
    parts = [_INT16.pack(len(fields))]
    for field, form in zip(fields, formats, strict=True):
        parts.append(zero(field.name))
        table, oid = _signed(field.table), _signed(field.oid)
        parts.append(_FIELD.pack(table, field.place, oid, field.size, field.modifier, form))
    return message(b"T", *parts)


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", _INT16.pack(len(oids)), *(_INT32.pack(_signed(o)) for o in oids))


def command_complete(tag: str) -> bytes:
    """A statement has ended."""
    return message(b"C", zero(tag))


def error_response(fields: Mapping[str, str], kind: bytes = b"E") -> bytes:
    """An error by its fields, ``C`` the SQLSTATE and so on; a notice with kind ``N``."""
    parts = [key.encode() + zero(value) for key, value in fields.items() if value]
    return message(kind, *parts, b"\0")


def negotiate_version(minor: int, options: Sequence[str]) -> bytes:
    """The newest minor version that is spoken here, and the options that are unknown."""
    head = _INT32.pack((3 << 16) | minor) + _INT32.pack(len(options))
    return message(b"v", head, *(zero(option) for option in options))


def protocol_error(what: str) -> PalimpsestError:
    """The client does not keep to the protocol."""
    return PalimpsestError(
        Code.PROTOCOL, what, advice="use a driver that speaks the PostgreSQL protocol 3"
    )


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number
