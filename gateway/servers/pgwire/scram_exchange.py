"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS as the PostgreSQL protocol carries them; no sockets.

    server: mechanisms    client: first    server: challenge    client: proof    server: signature

RFC 5802, RFC 7677, and tls-server-end-point of RFC 5929.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import field

from gateway.access.scram import Verifier, is_proof, server_signature
from gateway.servers.pgwire.messages import protocol_error
from journal.model.lazy_dataclass import dataclass

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_END_POINT = "tls-server-end-point"


@dataclass(slots=True)
class ScramExchange:
    """One exchange; ``binding`` is what the connection's TLS is bound by, None without TLS.

    ``nonce`` is the server's part, random and printable. Raises PROTOCOL for what is malformed.
    """

    verifier: Verifier
    nonce: str
    binding: bytes | None = None
    _header: str = field(default="", init=False)
    _bound: bool = field(default=False, init=False)
    _first: str = field(default="", init=False)
    _challenge: str = field(default="", init=False)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What is offered, the best first."""
        return (PLAIN,) if self.binding is None else (BOUND, PLAIN)

    def challenge(self, mechanism: str, message: bytes) -> bytes:
        """The answer to a client's first message."""
        if mechanism not in self.mechanisms:
            raise protocol_error(f"the mechanism {mechanism!r} is not offered")
        text = _text(message)
        flag, _, rest = text.partition(",")
        identity, _, bare = rest.partition(",")
        self._bound = flag.startswith("p=")
        if self._bound != (mechanism == BOUND) or (self._bound and flag != f"p={_END_POINT}"):
            raise protocol_error("the channel binding does not fit the mechanism")
        if flag not in ("n", "y") and not self._bound:
            raise protocol_error("the first message of SCRAM has no channel binding flag")
        if flag == "y" and self.binding is not None:
            raise protocol_error("the client was not offered what the server has: channel binding")
        parts = bare.split(",")
        if identity or len(parts) < 2 or parts[0][:2] != "n=" or parts[1][:2] != "r=":
            raise protocol_error("the first message of SCRAM is malformed")
        if not parts[1][2:]:
            raise protocol_error("the client's nonce is empty")
        self._header, self._first = f"{flag},{identity},", bare
        salt = base64.b64encode(self.verifier.salt).decode()
        nonce = parts[1][2:] + self.nonce
        self._challenge = f"r={nonce},s={salt},i={self.verifier.iterations}"
        return self._challenge.encode()

    def final(self, message: bytes) -> bytes | None:
        """The server's signature where the client knows the password, else None."""
        text = _text(message)
        unsigned, sign, proof = text.rpartition(",p=")
        parts = unsigned.split(",")
        if not sign or len(parts) < 2 or parts[0][:2] != "c=" or parts[1][:2] != "r=":
            raise protocol_error("the last message of SCRAM is malformed")
        bound = self._header.encode() + ((self.binding or b"") if self._bound else b"")
        if parts[0][2:] != base64.b64encode(bound).decode():
            raise protocol_error("the channel binding is not that of this connection")
        if parts[1] != self._challenge.split(",")[0]:
            raise protocol_error("the nonce is not that of this exchange")
        try:
            given = base64.b64decode(proof, validate=True)
        except (binascii.Error, ValueError) as error:
            raise protocol_error("the proof of SCRAM is no base64") from error
        whole = f"{self._first},{self._challenge},{unsigned}".encode()
        if not is_proof(self.verifier, whole, given):
            return None
        return b"v=" + base64.b64encode(server_signature(self.verifier, whole))


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError as error:
        raise protocol_error("a message of SCRAM is not UTF-8") from error
