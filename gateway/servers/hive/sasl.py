"""How a connection begins: TLS, SASL PLAIN, or calls at once; and its frames afterwards.

0x16          a TLS handshake; what follows begins anew
0x01          SASL: mechanism, initial response, COMPLETE; then frames of a length and a body
0x80          calls without SASL
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable

from gateway.servers.tls import ServerTls
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5
_HEAD = struct.Struct("!BI")
_SIZE = struct.Struct("!I")
_TLS = 0x16
_LOGIN_BYTES_MAX = 8_192
_CHUNK = 1 << 16


class HiveClientGone(Exception):
    """The client has closed its connection, or it was lost."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and a password that a client has sent."""

    user: str
    password: str


class HiveStream:
    """The bytes of one connection. ``peer`` is its socket, by TLS after ``begin``."""

    def __init__(self, peer: socket.socket, limit: int) -> None:
        self.peer = peer
        self._limit = limit
        self._has_frames = False

    @property
    def is_secure(self) -> bool:
        """True under TLS."""
        return isinstance(self.peer, ssl.SSLSocket)

    def begin(
        self, tls: ServerTls | None, admit: Callable[[Credentials], None]
    ) -> Credentials | None:
        """Take TLS and the login; what the client has sent, None where it logs in later.

        ``admit`` raises for credentials that let nobody in; the client is told why. Raises
        PROTOCOL, HiveClientGone, and what ``admit`` raises.
        """
        first = self._peek()
        if first == _TLS:
            self._start_tls(tls)
            first = self._peek()
        if first != _START:
            return None
        try:
            found = self._credentials()
            admit(found)
        except PalimpsestError as error:
            self._send(_BAD, f"{error.message} ({error.code.value.code}): {error.advice}".encode())
            raise
        self._send(_COMPLETE, b"")
        self._has_frames = True
        return found

    def receive(self) -> bytes:
        """The next bytes of calls: a frame, or what has arrived."""
        if not self._has_frames:
            return self._receive(_CHUNK)
        # Of most frames everything arrives at once: one look at the socket for each.
        found = self._receive(_CHUNK)
        if len(found) < _SIZE.size:
            found += self._exactly(_SIZE.size - len(found))
        (size,) = _SIZE.unpack_from(found)
        if size > self._limit:
            raise _violation(f"a frame has more than the {self._limit:,} bytes that are allowed")
        end = _SIZE.size + size
        if len(found) < end:
            return found[_SIZE.size :] + self._exactly(end - len(found))
        self._ahead = found[end:]
        return found[_SIZE.size : end] if size else self.receive()

    def write(self, *parts: bytes | memoryview) -> None:
        """Send an answer; raises HiveClientGone."""
        if self._has_frames:
            parts = (_SIZE.pack(sum(map(len, parts))), *parts)
        try:
            self.peer.sendall(b"".join(parts))
        except OSError as error:
            raise HiveClientGone from error

    def _start_tls(self, tls: ServerTls | None) -> None:
        if tls is None:
            raise _violation("this server has no TLS")
        try:
            self.peer = tls.context().wrap_socket(self.peer, server_side=True)
        except (OSError, ValueError) as error:
            raise HiveClientGone from error

    def _credentials(self) -> Credentials:
        mechanism = self._message(_START)
        if mechanism != b"PLAIN":
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"the mechanism {mechanism.decode(errors='replace')!r} is not offered",
                advice="log in with user and password: PLAIN; Kerberos is not built",
            )
        parts = self._message(_OK, _COMPLETE).split(b"\0")
        if len(parts) != 3:
            raise _violation("the response of PLAIN is no user and password")
        with contextlib.suppress(UnicodeDecodeError):
            return Credentials(parts[1].decode(), parts[2].decode())
        raise _violation("user and password are not UTF-8")

    def _message(self, *wanted: int) -> bytes:
        status, size = _HEAD.unpack(self._exactly(_HEAD.size))
        if status not in wanted or size > _LOGIN_BYTES_MAX:
            raise _violation("this is no exchange of SASL")
        return self._exactly(size)

    def _send(self, status: int, body: bytes) -> None:
        with contextlib.suppress(OSError):
            self.peer.sendall(_HEAD.pack(status, len(body)) + body)

    def _peek(self) -> int:
        if self.is_secure:
            # Under TLS nothing can be looked at without taking it.
            self._ahead = self._receive(1)
            return self._ahead[0]
        try:
            found = self.peer.recv(1, socket.MSG_PEEK)
        except OSError as error:
            raise HiveClientGone from error
        if not found:
            raise HiveClientGone
        return found[0]

    _ahead = b""

    def _exactly(self, size: int) -> bytes:
        found = self._receive(min(size, _CHUNK))
        if len(found) == size:
            return found
        parts = [found]
        left = size - len(found)
        while left:
            part = self._receive(min(left, 16 * _CHUNK))
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _receive(self, size: int) -> bytes:
        if self._ahead and size:
            found, self._ahead = self._ahead, b""
            return found
        try:
            found = self.peer.recv(size)
        except OSError as error:
            raise HiveClientGone from error
        if not found:
            raise HiveClientGone
        return found


def _violation(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.PROTOCOL, message, advice="connect with a client of HiveServer2, in its binary mode"
    )
