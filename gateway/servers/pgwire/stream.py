"""A client's bytes: whole messages in, bytes out in large pieces."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable
from functools import partial

from gateway.servers.pgwire.messages import protocol_error
from gateway.servers.sockets import stop_reading

STARTUP_MAX = 10_000
"""The longest first message, as in PostgreSQL."""
_PIECE = 1 << 16
_HEAD = struct.Struct("!ci")


class ClientGone(Exception):
    """The client has closed the connection, or is out of reach."""


class MessageStream:
    """Messages of one client; used by one thread."""

    def __init__(self, peer: socket.socket, longest: int) -> None:
        """``longest`` is the most bytes that a message may have."""
        self.peer = peer
        self._longest = longest
        self._in = bytearray()
        self._out: list[bytes | memoryview] = []
        self._out_size = 0
        self._is_stopped = False
        self.touched_s = time.monotonic()
        """When the client was heard or answered last, by the clock that only goes forward."""

    @property
    def is_buffering(self) -> bool:
        """True when bytes of the client wait to be read."""
        return bool(self._in)

    def read_startup(self) -> bytes:
        """The body of a message without a type, as connections begin with."""
        (size,) = struct.unpack("!i", self._take(4))
        if not 8 <= size <= STARTUP_MAX:
            raise protocol_error(f"the first message cannot have {size} bytes")
        return self._take(size - 4)

    def first_byte(self) -> bytes:
        """What the client sends first; it stays to be read. Raises ClientGone."""
        try:
            return self.peer.recv(1, socket.MSG_PEEK)
        except OSError as error:
            raise ClientGone(str(error)) from error

    def secure(self, context: ssl.SSLContext) -> str | None:
        """Go on under TLS; the protocol that both ends have named. Raises ClientGone."""
        try:
            peer = context.wrap_socket(self.peer, server_side=True)
        except OSError as error:
            raise ClientGone(str(error)) from error
        self.peer = peer
        return peer.selected_alpn_protocol()

    def read(self, longest: int | None = None) -> tuple[bytes, bytes]:
        """Type and body of the next message; raises PROTOCOL for one that is too long."""
        kind, size = _HEAD.unpack(self._take(5))
        most = self._longest if longest is None else longest
        if not 4 <= size <= most:
            raise protocol_error(
                f"a message of {size} bytes is longer than the {most} that are taken"
            )
        body = self._take(size - 4)
        self.touched_s = time.monotonic()
        return kind, body

    def next_kind(self) -> bytes | None:
        """The type of the message after this one, if it has arrived already."""
        if not self._in:
            self.peer.setblocking(False)
            try:
                self._in += self.peer.recv(_PIECE)
            except (BlockingIOError, InterruptedError):
                return None
            except OSError:
                return None
            finally:
                self.peer.setblocking(True)
        return bytes(self._in[:1]) or None

    def stop_reading(self) -> None:
        """Let the thread that reads find the connection closed; what it writes still goes out.

        From another thread. The mark is needed beside the system's: what arrives after that is
        still handed out.
        """
        self._is_stopped = True
        stop_reading(self.peer)

    def write(self, data: bytes | memoryview) -> None:
        """Send something, at the latest with ``flush``."""
        self._out.append(data)
        self._out_size += len(data)
        if self._out_size >= _PIECE:
            self.flush()

    def flush(self) -> None:
        """Send what was written; raises ClientGone."""
        out, self._out, self._out_size = self._out, [], 0
        if out:
            self.touched_s = time.monotonic()
        small: list[bytes | memoryview] = []

        def send(pieces: list[bytes | memoryview]) -> None:
            if pieces:
                self._guarded(lambda: self.peer.sendall(b"".join(pieces)))

        for data in out:
            if len(data) < _PIECE:
                small.append(data)
                continue
            send(small)
            small = []
            self._guarded(partial(self.peer.sendall, data))
        send(small)

    def _take(self, size: int) -> bytes:
        while len(self._in) < size and not self._is_stopped:
            data = b""
            try:
                data = self.peer.recv(max(_PIECE, min(size - len(self._in), 1 << 20)))
            except OSError as error:
                raise ClientGone(str(error)) from error
            if not data:
                raise ClientGone("the connection was closed")
            self._in += data
        if self._is_stopped:
            raise ClientGone("nothing more is read")
        found = bytes(memoryview(self._in)[:size])
        del self._in[:size]
        return found

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            raise ClientGone(str(error)) from error
