"""Decides who may connect: the owner by Unix socket, roles by login, or trusted clients."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.access.logins import Logins, passwords_need_tls
from gateway.access.run_as import RunAsRefused
from gateway.servers.pgwire.login import log_in
from gateway.servers.pgwire.startup import Greeting
from gateway.servers.pgwire.stream import MessageStream
from gateway.servers.tls import ServerTls
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_PEER = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of one server.

    ``owner`` is the user id that peers on Unix sockets must have, None for any; ``trusts`` lets
    everybody in who reaches a TCP port. Others log in; outside of the loopback under TLS only.
    """

    owner: int | None = None
    trusts: bool = False
    logins: Logins | None = None
    tls: ServerTls | None = None

    def admit(self, stream: MessageStream, begun: Greeting) -> Role | None:
        """The role that a client has logged in as, None for one that may do everything.

        Raises LOGIN, PASSWORD, PROTOCOL.
        """
        peer = stream.peer
        if peer.family == socket.AF_UNIX:
            self._check_peer(peer)
            return None
        if self.trusts:
            return None
        logins = self._known_logins()
        host, user = str(peer.getpeername()[0]), begun.parameters.get("user", "")
        is_secure = isinstance(peer, ssl.SSLSocket)
        if not is_secure and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            error = PalimpsestError(
                Code.LOGIN,
                "logins from other machines need TLS",
                advice="connect with sslmode=require, better with verify-full",
            )
            raise logins.refuse(user, host, "postgresql", error)
        binding = None
        if self.tls is not None and isinstance(peer, ssl.SSLSocket):
            binding = self.tls.binding(peer.context)
        return log_in(stream, logins, user, host, binding)

    def admit_password(
        self, user: str, password: str, address: str, front_end: str, *, is_secure: bool
    ) -> Role | None:
        """The role of a client that sends its password, None for one that may do everything.

        ``is_secure``: it came under TLS. Raises LOGIN, PASSWORD.
        """
        if self.trusts:
            return None
        logins = self._known_logins()
        if not is_secure:
            raise logins.refuse(user, address, front_end, passwords_need_tls())
        return logins.log_in(user, password, address, front_end)

    @contextmanager
    def noting_run_as(self, user: str, address: str, front_end: str) -> Iterator[None]:
        """Log a refusal to run as another user, where a session is opened within the block."""
        try:
            yield
        except RunAsRefused:
            if self.logins is not None:
                self.logins.note_refused_run_as(user, address, front_end)
            raise

    def close(self) -> None:
        """Let nobody in any more: what the login log has not written yet is written."""
        if self.logins is not None:
            self.logins.close()

    def _known_logins(self) -> Logins:
        if self.logins is None:
            raise PalimpsestError(
                Code.LOGIN, "there are no logins", advice="connect through the Unix socket"
            )
        return self.logins

    def _check_peer(self, peer: socket.socket) -> None:
        if self.owner is None:
            return
        raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        _, user, _ = _PEER.unpack(raw)
        if user not in (self.owner, 0):
            raise PalimpsestError(
                Code.LOGIN,
                f"the user with the id {user} does not own the warehouse",
                advice=f"connect as the user with the id {self.owner}",
            )
