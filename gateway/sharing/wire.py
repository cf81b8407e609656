"""Messages on a local socket: each a frame of pickled values, or of raw bytes.

    frame = length of the body (8 bytes, big-endian), kind (1 byte), body

Raw bytes may lie in memory that both ends see; then the number of their place (1 byte) stands for
the body.

Values are pickled, so that parameters arrive as what they are: a ``Decimal``, a moment with its
zone, an integer of any size. What is read may name only the closed list of types below, and classes
of this project and of sqlglot; both ends have checked before that the other belongs to the same
user. Nothing here knows what a message means.
"""

from __future__ import annotations

import enum
import io
import pickle
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gateway.sharing import shared_memory
from journal.model.errors import Code, PalimpsestError, Position

if TYPE_CHECKING:
    import pyarrow as pa

    from gateway.sharing.shared_memory import IncomingPlaces

_HEADER = struct.Struct("!QB")
_VALUES, _BYTES, _SHARED = 0, 1, 2
_MUCH = 1 << 16
_PROTOCOL = 5
_OWN = ("gateway.", "journal.", "rewriter.", "spark_compaction.", "sqlglot.")
_BUILDERS = ("failure", "frozen_mapping", "plain")
_KNOWN = frozenset(
    {
        *(("builtins", name) for name in ("bytearray", "complex", "frozenset", "range", "set")),
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("copyreg", "__newobj__"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("ipaddress", "IPv4Address"),
        ("ipaddress", "IPv6Address"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("pytz", "_UTC"),
        ("pytz", "_p"),
        ("sqlglot.serde", "load"),
        ("uuid", "SafeUUID"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo"),
    }
)


class PeerGone(Exception):
    """The other end has closed the connection, or has died."""


def send(peer: socket.socket, value: object) -> None:
    """Send one value; raises PARAMETERS if it has a part of a type that cannot be sent."""
    body = dumped(value)
    header = _HEADER.pack(len(body), _VALUES)
    if len(body) < _MUCH:
        send_part(peer, header + body)
    else:
        send_part(peer, header)
        send_part(peer, body)


def send_header(peer: socket.socket, size: int) -> None:
    """Announce so many bytes, which ``send_part`` then sends as they are: a batch of rows."""
    send_part(peer, _HEADER.pack(size, _BYTES))


def send_shared(peer: socket.socket, size: int, place: int, file: int | None) -> None:
    """Say that so many raw bytes lie at a place of shared memory, whose file is new to the peer."""
    data = _HEADER.pack(size, _SHARED) + bytes([place])
    if file is None:
        send_part(peer, data)
        return
    with _loss():
        shared_memory.send_with_file(peer, data, file)


def send_part(peer: socket.socket, data: bytes | pa.Buffer) -> None:
    """Send some of the bytes announced; raises PeerGone."""
    with _loss():
        peer.sendall(data)


def receive(
    peer: socket.socket,
    silent: Callable[[], None] = lambda: None,
    places: IncomingPlaces | None = None,
) -> Any:
    """The next value, or bytes as a ``memoryview``.

    A socket with a timeout calls ``silent`` at each one that passes without a byte; it may raise.
    ``places``: where the peer puts large messages, if it may. Raises PeerGone at the end of the
    connection.
    """
    if places is None:
        size, kind = _HEADER.unpack(_read(peer, _HEADER.size, silent))
    else:
        header, file = _read_header(peer, silent)
        size, kind = _HEADER.unpack(header)
        if kind == _SHARED:
            (number,) = _read(peer, 1, silent)
            if file is not None:
                places.add(number, file)
            body = _memory(size)
            places.copy(number, body)
            return body
    body = _read(peer, size, silent)
    return body if kind == _BYTES else loaded(body)


def dumped(value: object) -> bytes:
    """A value as bytes; raises PARAMETERS if it has a part of a type that cannot be sent."""
    out = io.BytesIO()
    try:
        _Pickler(out, _PROTOCOL).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise PalimpsestError(
            Code.PARAMETERS,
            f"a value cannot be sent to the process that has the warehouse open: {error}",
            advice="convert it to a number, text, bytes, a moment, a list or a mapping of these",
        ) from error
    return out.getvalue()


def loaded(data: bytes | memoryview) -> Any:
    """The value of such bytes; raises INTERFACE for types that are not on the list."""
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError) as error:
        raise PalimpsestError(
            Code.INTERFACE,
            f"a message of another program cannot be read: {error}",
            advice="use the same version of palimpsest in all programs",
        ) from error


def frozen_mapping(items: dict[Any, Any]) -> Mapping[Any, Any]:
    """A mapping that nobody can change, which pickle does not know."""
    return MappingProxyType(items)


def plain(value: Any) -> Any:
    """A value of the language that a library's own stands for: an integer of numpy's, say."""
    return value


def failure(code: str, message: str, advice: str, position: Position | None) -> PalimpsestError:
    """An error by the name of its code."""
    return PalimpsestError(Code[code], message, advice=advice, position=position)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return frozen_mapping, (dict(value),)
        if isinstance(value, PalimpsestError):
            return failure, (value.code.name, value.message, value.advice, value.position)
        if isinstance(value, memoryview):
            return plain, (value.tobytes(),)
        if isinstance(value, enum.Enum):
            return type(value), (value.value,)
        if hasattr(value, "to_pydatetime"):
            return plain, (value.to_pydatetime(),)
        if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
            return plain, (value.item(),)
        if type(value).__module__ == "zoneinfo" and getattr(value, "key", None):
            return type(value), (value.key,)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _KNOWN or (module == __name__ and name in _BUILDERS):
            return super().find_class(module, name)
        if module.startswith(_OWN):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__.startswith(_OWN):
                return found
        raise PalimpsestError(
            Code.PARAMETERS,
            f"a value of the type {module}.{name} cannot be sent to the process that has the"
            " warehouse open",
            advice="convert it to a number, text, bytes, a moment, a list or a mapping of these",
        )


@contextmanager
def _loss() -> Iterator[None]:
    """A connection that cannot be written to is one whose peer has gone."""
    try:
        yield
    except TimeoutError as error:
        raise PeerGone(str(error)) from error
    except OSError as error:
        raise PeerGone(error.strerror or str(error)) from error


def _read_header(peer: socket.socket, silent: Callable[[], None]) -> tuple[bytes, int | None]:
    header, file = b"", None
    while len(header) < _HEADER.size:
        try:
            data, new = shared_memory.receive_with_file(peer, _HEADER.size - len(header))
        except TimeoutError:
            silent()
            continue
        except OSError as error:
            raise PeerGone(error.strerror or str(error)) from error
        if not data:
            raise PeerGone("the connection was closed")
        header += data
        file = new if file is None else file
    return header, file


def _read(peer: socket.socket, size: int, silent: Callable[[], None]) -> memoryview:
    body = _memory(size)
    done = 0
    while done < size:
        try:
            count = peer.recv_into(body[done:])
        except TimeoutError:
            silent()
            continue
        except OSError as error:
            raise PeerGone(error.strerror or str(error)) from error
        if count == 0:
            raise PeerGone("the connection was closed")
        done += count
    return body


def _memory(size: int) -> memoryview:
    """Memory to read into: where much is wanted, of Arrow's pool, which need not be cleared."""
    if size >= _MUCH and "pyarrow" in sys.modules:
        return memoryview(sys.modules["pyarrow"].allocate_buffer(size)).cast("B")
    return memoryview(bytearray(size))
