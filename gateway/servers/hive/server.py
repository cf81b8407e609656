"""Listens for clients of HiveServer2's binary protocol, and gives each a thread.

Who gets in is the affair of ``admission``. Sessions are seen by the connection that opened them
alone, and end with it.
"""

from __future__ import annotations

import logging
import socket
import time
from dataclasses import field
from functools import partial

from gateway.servers.addresses import address_of, host_of
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.hive.client_session import SessionOpener, ThriftSession, session_of
from gateway.servers.hive.messages import Incoming
from gateway.servers.hive.sasl import Credentials, HiveClientGone, HiveStream
from gateway.servers.hive.service import HiveService
from gateway.servers.hive.wire import ttypes
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.sockets import SocketServer, hang_up, has_left
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_LOG = logging.getLogger("palimpsest.hive")
_TOLD_S = 60.0
"""How long a connection whose sessions were ended stays, for its client to hear why."""
_SESSIONS_MAX = 100
"""How many sessions a connection may open."""


@dataclass(eq=False, slots=True)
class _Client:
    stream: HiveStream
    host: str
    began_s: float = field(default_factory=time.monotonic)
    credentials: Credentials | None = None
    role: Role | None = None
    user: str = ""
    is_admitted: bool = False
    sessions: list[ThriftSession] = field(default_factory=list)
    end: PalimpsestError | None = None
    """Why its sessions were ended; its next call hears of it."""
    ended_s: float = 0.0

    @property
    def peer(self) -> socket.socket:
        """See ``SocketClient``."""
        return self.stream.peer

    @property
    def is_busy(self) -> bool:
        """True while a statement runs or a transaction is open."""
        return any(session.is_busy or session.in_transaction for session in list(self.sessions))

    def cancel(self) -> None:
        """Stop what runs."""
        for session in list(self.sessions):
            session.session.cancel()

    def let_go(self, why: PalimpsestError) -> None:
        """See ``SocketClient``; the protocol has no word for why."""
        for session in list(self.sessions):
            session.session.cancellation.cancel(why)
        hang_up(self.peer)

    def end_sessions(self, why: PalimpsestError) -> None:
        """End all sessions, and keep the connection for a while to say why."""
        self.end, self.ended_s = why, time.monotonic()
        self.close()
        self.sessions.clear()

    def close(self) -> None:
        """End all sessions."""
        for session in list(self.sessions):
            session.close()


class HiveServer(SocketServer[_Client]):
    """Serves a warehouse to clients of HiveServer2's binary protocol."""

    def __init__(
        self,
        open_session: OpenSession,
        limits: ServerLimits,
        admission: Admission,
        ending: Ending,
    ) -> None:
        self._open_session = SessionOpener(open_session, limits)
        self._admission = admission
        super().__init__("hive", limits, ending)

    def _meet(self, peer: socket.socket) -> _Client:
        return _Client(HiveStream(peer, self._limits.message_bytes), host_of(peer))

    def _talk(self, client: _Client, *, is_full: bool) -> None:
        try:
            self._answer(client, is_full)
        except HiveClientGone:
            pass
        except PalimpsestError as error:
            _LOG.info("a connection from %s ends: %s", client.host, error.message)

    def _answer(self, client: _Client, is_full: bool) -> None:
        stream = client.stream
        stream.peer.settimeout(self._limits.login_s)

        def admit(credentials: Credentials) -> None:
            if is_full:
                self._limits.check_room(self._limits.connections)
            self._admit(client, credentials)

        client.credentials = stream.begin(self._admission.tls, admit)
        if client.credentials is not None:
            stream.peer.settimeout(None)
        incoming = Incoming(stream.receive, self._limits.message_bytes)
        sessions = _ConnectionSessions(self, client, is_full)
        service = HiveService(sessions, self._limits.message_bytes)
        while True:
            incoming.wait()
            stream.write(service.serve_call(incoming))

    def _admit(self, client: _Client, credentials: Credentials) -> None:
        """Let somebody in; raises LOGIN, PASSWORD, TOO_MANY_CONNECTIONS."""
        role = client.role = self._admission.admit_password(
            credentials.user,
            credentials.password,
            client.host,
            "hive",
            is_secure=client.stream.is_secure,
        )
        client.user = credentials.user if role is None else role.name
        self._limits.check_client(client, self.clients())
        client.is_admitted = True

    def _look_at(self, client: _Client) -> None:
        now = time.monotonic()
        sessions = list(client.sessions)
        if not client.sessions and not client.is_admitted:
            if now - client.began_s > self._limits.login_s:
                hang_up(client.peer)
            return
        for session in sessions:
            session.end_late()
        if any(session.is_busy for session in sessions):
            if has_left(client.peer):
                client.cancel()
                hang_up(client.peer)
        elif sessions:
            waited = now - max(session.touched_s for session in sessions)
            waits = any(session.in_transaction for session in sessions)
            why = self._limits.check_waiting(waited, in_transaction=waits)
            if why is not None:
                client.end_sessions(why)
        elif client.end is not None and now - client.ended_s > _TOLD_S:
            hang_up(client.peer)

    def open_for(
        self, client: _Client, request: ttypes.TOpenSessionReq, version: int
    ) -> ThriftSession:
        """A session for a client; raises what lets it not in."""
        if not client.is_admitted:
            given = Credentials(request.username or "", request.password or "")
            self._admit(client, given)
            client.credentials = given
            client.peer.settimeout(None)
        if len(client.sessions) >= _SESSIONS_MAX:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"the connection has {_SESSIONS_MAX} sessions",
                advice="close some",
            )
        assert client.credentials is not None
        user = client.credentials.user
        with self._admission.noting_run_as(user, client.host, "hive"):
            opened = self._open_session.open_for(
                user, client.role, request.configuration or {}, version
            )
        opened.show(address_of(client.peer), partial(hang_up, client.peer))
        client.sessions.append(opened)
        client.end = None
        return opened


class _ConnectionSessions:
    """The sessions of one connection; see ``service.Sessions``."""

    def __init__(self, server: HiveServer, client: _Client, is_full: bool) -> None:
        self._server = server
        self._client = client
        self._is_full = is_full

    def open(self, request: ttypes.TOpenSessionReq, version: int) -> ThriftSession:
        """A new session; raises what lets nobody in."""
        if self._is_full:
            limits = self._server._limits
            limits.check_room(limits.connections)
        return self._server.open_for(self._client, request, version)

    def find(self, handle: ttypes.TSessionHandle) -> ThriftSession:
        """The session of a handle; raises NO_CURSOR, and why sessions were ended."""
        self._check_end()
        return session_of(handle, self._client.sessions)

    def all(self) -> list[ThriftSession]:
        """Those of the connection; raises why they were ended."""
        self._check_end()
        for session in self._client.sessions:
            session.touched_s = time.monotonic()
        return self._client.sessions

    def _check_end(self) -> None:
        if self._client.end is not None and not self._client.sessions:
            raise self._client.end

    def close(self, session: ThriftSession) -> None:
        """End a session."""
        self._client.sessions.remove(session)
        session.close()
