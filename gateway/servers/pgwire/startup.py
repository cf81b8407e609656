"""How a connection begins: an offer of encryption, a cancel request, or a client's greeting."""

from __future__ import annotations

import struct

from gateway.servers.pgwire import messages
from gateway.servers.pgwire.messages import BodyReader, protocol_error
from gateway.servers.pgwire.stream import MessageStream
from gateway.servers.tls import ServerTls
from journal.model.lazy_dataclass import dataclass

_CANCEL, _SSL, _GSSENC = 80_877_102, 80_877_103, 80_877_104
ALPN = "postgresql"
"""What the protocol is called in TLS."""
FORWARDED_CANCEL = 80_877_199
"""How a server passes a cancel request on to another one, in the place of the request's code."""
_TLS_RECORD = b"\x16"
_MAJOR, _NEWEST_MINOR = 3, 2
_SECRET_V30, _SECRET_V32 = 4, 32


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A client wants what another connection of its runs to stop."""

    pid: int
    secret: bytes
    is_forwarded: bool = False
    """Another server has passed it on."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a client says at its start: the minor version it speaks, and its parameters."""

    minor: int
    parameters: dict[str, str]

    @property
    def secret_bytes(self) -> int:
        """How long the secret of its cancel key is."""
        return _SECRET_V32 if self.minor >= 2 else _SECRET_V30


def greeting(stream: MessageStream, tls: ServerTls | None) -> Greeting | CancelRequest:
    """Read up to the greeting, under TLS if the client wants it and there is. Raises PROTOCOL."""
    if tls is not None and stream.first_byte() == _TLS_RECORD:
        if stream.secure(tls.context()) != ALPN:
            raise protocol_error(f"direct TLS must name the protocol {ALPN} by ALPN")
        tls = None
    for _ in range(3):
        body = stream.read_startup()
        (code,) = struct.unpack_from("!i", body)
        if code in (_SSL, _GSSENC):
            if stream.is_buffering:
                raise protocol_error(
                    "the client sent data before the server answered its request for encryption"
                )
            begins = code == _SSL and tls is not None
            stream.write(b"S" if begins else b"N")
            stream.flush()
            if begins and tls is not None:
                stream.secure(tls.context())
                tls = None
            continue
        if code in (_CANCEL, FORWARDED_CANCEL):
            (pid,) = struct.unpack_from("!i", body, 4)
            return CancelRequest(pid, body[8:], code == FORWARDED_CANCEL)
        return _greeting(stream, code, body[4:])
    raise protocol_error("the client asked for encryption more than once")


def _greeting(stream: MessageStream, code: int, body: bytes) -> Greeting:
    major, minor = code >> 16, code & 0xFFFF
    if major != _MAJOR:
        raise protocol_error(f"the server does not speak version {major}.{minor} of the protocol")
    reader = BodyReader(body)
    parameters: dict[str, str] = {}
    while name := reader.text():
        parameters[name] = reader.text()
    unknown = [name for name in parameters if name.startswith("_pq_.")]
    if minor > _NEWEST_MINOR or minor == 1 or unknown:
        minor = min(minor, _NEWEST_MINOR) if minor != 1 else 0
        stream.write(messages.negotiate_version(minor, unknown))
    return Greeting(minor, parameters)
