"""Lets a client log in over its stream: by certificate, or by password with SCRAM."""

from __future__ import annotations

import base64
import secrets
import ssl
import struct

from gateway.access.logins import Login, Logins, passwords_need_tls, wrong_password
from gateway.servers.pgwire import messages
from gateway.servers.pgwire.messages import BodyReader, protocol_error
from gateway.servers.pgwire.scram_exchange import ScramExchange
from gateway.servers.pgwire.stream import MessageStream
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError

_CLEAR, _SASL, _CONTINUE, _FINAL = 3, 10, 11, 12
_LONGEST = 16_384
"""Bytes of a message before the login; SCRAM needs a few hundred, a token some thousands."""
_NONCE_BYTES = 18
_FRONT_END = "postgresql"


def log_in(
    stream: MessageStream, logins: Logins, user: str, address: str, binding: bytes | None
) -> Role:
    """The role of a client that has shown who it is; raises PASSWORD, LOGIN, PROTOCOL.

    ``binding`` is what the TLS of the connection is bound by, if it can be. An answer is held back
    the longer, the more often the same user failed from the same address.
    """
    try:
        return _known_role(stream, logins, logins.find(user), address, binding)
    except PalimpsestError as error:
        if error.code is Code.PROTOCOL:
            logins.refuse(user, address, _FRONT_END, error)
        raise


def _known_role(
    stream: MessageStream, logins: Logins, login: Login, address: str, binding: bytes | None
) -> Role:
    user = login.name
    if _has_certificate(stream, login):
        logins.hold_back(user, address, _FRONT_END)
        return logins.admit(login, address, _FRONT_END, "certificate")
    if logins.sends_password(login):
        if not isinstance(stream.peer, ssl.SSLSocket):
            raise logins.refuse(user, address, _FRONT_END, passwords_need_tls())
        _send(stream, _CLEAR, b"")
        return logins.log_in(user, BodyReader(_answer(stream)).text(), address, _FRONT_END)
    nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
    exchange = ScramExchange(login.verifier, nonce, binding)
    names = b"".join(name.encode() + b"\0" for name in exchange.mechanisms) + b"\0"
    _send(stream, _SASL, names)
    reader = BodyReader(_answer(stream))
    mechanism, size = reader.text(), reader.int32()
    _send(stream, _CONTINUE, exchange.challenge(mechanism, reader.take(size)))
    signature = exchange.final(_answer(stream))
    logins.hold_back(user, address, _FRONT_END)
    if signature is None or not login.may_succeed:
        raise logins.refuse(user, address, _FRONT_END, wrong_password(user))
    role = logins.admit(login, address, _FRONT_END, mechanism)
    _send(stream, _FINAL, signature)
    return role


def _has_certificate(stream: MessageStream, login: Login) -> bool:
    """True if the client has shown a certificate, which TLS has verified, of its name."""
    peer = stream.peer
    found = peer.getpeercert() if isinstance(peer, ssl.SSLSocket) else None
    subject = tuple((found or {}).get("subject", ()))
    parts = [tuple(pair) for part in subject for pair in part]
    names = [pair[1] for pair in parts if pair[0] == "commonName"]
    return login.role is not None and names == [login.role.name]


def _send(stream: MessageStream, code: int, data: bytes) -> None:
    stream.write(messages.message(b"R", struct.pack("!i", code) + data))
    stream.flush()


def _answer(stream: MessageStream) -> bytes:
    kind, body = stream.read(_LONGEST)
    if kind != b"p":
        raise protocol_error(f"a password was expected, not a message of type {kind!r}")
    return body
