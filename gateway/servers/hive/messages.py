"""Calls and answers of the protocol in Thrift's binary encoding; no sockets.

    call      version and kind, name, number, and one structure: the request
    answer    the same, with the response; or an exception of the application

``gateway/servers/hive/wire`` has the structures. What a client sends is decoded by Thrift's own
library, within limits of sizes and depth.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType
from thrift.transport.TTransport import CReadableTransport, TMemoryBuffer, TTransportBase

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

CALL, REPLY, EXCEPTION = 1, 2, 3
UNKNOWN_METHOD = 1
_VERSION = 0x8001
_HEAD = struct.Struct("!HBBi")
_INT = struct.Struct("!i")
_NAME_MAX = 256
_ITEMS_MAX = 100_000
_FIELD = struct.Struct("!Bh")
_STOP = b"\0"


@dataclass(frozen=True, slots=True)
class CallHead:
    """What a call begins with."""

    name: str
    number: int


class Incoming(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """The bytes of a client, as Thrift's decoder takes them; ``more`` waits for the next ones.

    A message of more than ``limit`` bytes is a violation of the protocol.
    """

    def __init__(self, more: Callable[[], bytes], limit: int) -> None:
        self._more = more
        self._limit = limit
        self._buffer = io.BytesIO()
        self._whole = b""
        """What has arrived while the buffer was empty: many calls are answered by their bytes."""
        self._taken = 0

    @property
    def cstringio_buf(self) -> io.BytesIO:
        """What has arrived."""
        if self._whole:
            self._buffer, self._whole = io.BytesIO(self._whole), b""
        return self._buffer

    def wait(self) -> None:
        """Return when something of the next message has arrived."""
        left = self._buffer.getbuffer().nbytes - self._buffer.tell()
        if not left:
            self._whole = self._more()
        self._taken = left or len(self._whole)

    def put(self, data: bytes) -> None:
        """Take all bytes of a message at once."""
        self._buffer, self._whole = io.BytesIO(data), b""

    def arrived(self) -> bytes:
        """All that has arrived and is not read yet; it stays."""
        return self._whole or self._buffer.getvalue()[self._buffer.tell() :]

    def skip_arrived(self) -> None:
        """Leave out all that has arrived."""
        self._whole = b""
        self._buffer.seek(0, io.SEEK_END)

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> io.BytesIO:
        """Wait until ``reqlen`` bytes are there, which begin with those given."""
        if reqlen > self._limit:
            raise _violation(f"a message has more than the {self._limit:,} bytes that are allowed")
        parts = [partialread, self.cstringio_buf.read()]
        size = sum(map(len, parts))
        while size < reqlen:
            part = self._more()
            if not part:
                raise _violation("a call ends before its end")
            self._taken += len(part)
            if self._taken > self._limit:
                raise _violation(
                    f"a message has more than the {self._limit:,} bytes that are allowed"
                )
            parts.append(part)
            size += len(part)
        self._buffer = io.BytesIO(b"".join(parts))
        return self._buffer

    def read(self, sz: int) -> bytes:
        """Some bytes."""
        found = self.cstringio_buf.read(sz)
        if len(found) < sz:
            found = self.cstringio_refill(found, sz).read(sz)
        return found


def read_head(incoming: Incoming) -> CallHead:
    """The beginning of a call; raises PROTOCOL for what is none."""
    version, _, kind, size = _HEAD.unpack(incoming.readAll(_HEAD.size))
    if version != _VERSION or kind != CALL or not 0 <= size <= _NAME_MAX:
        raise _violation("this is no call of Thrift's binary protocol")
    try:
        name = incoming.readAll(size).decode()
    except UnicodeDecodeError as error:
        raise _violation("the name of a call is not UTF-8") from error
    (number,) = _INT.unpack(incoming.readAll(_INT.size))
    return CallHead(name, number)


def read_request(incoming: Incoming, kind: type, limit: int) -> Any:
    """The request of a call, of the structure ``kind``; raises PROTOCOL, ENCODING."""
    protocol = _protocol(incoming, limit)
    found = _Request()
    spec = (None, (1, TType.STRUCT, "request", [kind, kind.thrift_spec], None))  # type: ignore[attr-defined]
    try:
        protocol._fast_decode(found, protocol, [_Request, spec])
        if found.request is None:
            raise _violation("a call has no request")
        found.request.validate()
    except UnicodeDecodeError as error:
        raise PalimpsestError(
            Code.ENCODING, "a text of the call is not UTF-8", advice="send UTF-8"
        ) from error
    except (TProtocolException, EOFError, TypeError, ValueError, OverflowError) as error:
        raise _violation(f"a call cannot be read: {error}") from error
    return found.request


def skip_request(incoming: Incoming, limit: int) -> None:
    """Leave out the request of a call that is not known; raises PROTOCOL."""
    protocol = _protocol(incoming, limit)
    try:
        protocol._fast_decode(_Request(), protocol, [_Request, (None,)])
    except (TProtocolException, EOFError, TypeError, ValueError, OverflowError) as error:
        raise _violation(f"a call cannot be read: {error}") from error


def structure(value: Any) -> bytes:
    """A structure in its encoding."""
    protocol = TBinaryProtocolAccelerated(TMemoryBuffer())
    found: bytes = protocol._fast_encode(value, [type(value), value.thrift_spec])
    return found


def answer(head: CallHead, response: bytes) -> bytes:
    """The answer to a call."""
    return _begin(REPLY, head) + _FIELD.pack(TType.STRUCT, 0) + response + _STOP


def failure(head: CallHead, kind: int, message: str) -> bytes:
    """The answer to a call which cannot be made."""
    text = message.encode()
    return b"".join(
        (
            _begin(EXCEPTION, head),
            _FIELD.pack(TType.STRING, 1),
            _INT.pack(len(text)),
            text,
            _FIELD.pack(TType.I32, 2),
            _INT.pack(kind),
            _STOP,
        )
    )


def _begin(kind: int, head: CallHead) -> bytes:
    name = head.name.encode()
    return _HEAD.pack(_VERSION, 0, kind, len(name)) + name + _INT.pack(head.number)


class _Request:
    """What the one field of a call's arguments is decoded into."""

    request: Any = None


def _protocol(incoming: Incoming, limit: int) -> Any:
    return TBinaryProtocolAccelerated(
        incoming, fallback=False, string_length_limit=limit, container_length_limit=_ITEMS_MAX
    )


def _violation(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.PROTOCOL, message, advice="connect with a client of HiveServer2, in its binary mode"
    )
