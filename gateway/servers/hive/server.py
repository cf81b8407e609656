"""Listens for clients of HiveServer2's binary protocol, and gives each a thread.

Who gets in is the affair of ``admission``. Sessions are seen by the connection that opened them
alone, and end with it.
"""

from __future__ import annotations

import logging
import secrets
import socket
import ssl
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from gateway.activity.activity import next_session_id
from gateway.servers.addresses import address_of
from gateway.servers.client_sessions import OpenSession
from gateway.servers.hive.client_session import ThriftSession
from gateway.servers.hive.client_settings import ClientSettings
from gateway.servers.hive.messages import Incoming
from gateway.servers.hive.sasl import Credentials, HiveClientGone, HiveStream
from gateway.servers.hive.service import HiveService
from gateway.servers.hive.wire import ttypes
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError

_LOG = logging.getLogger("palimpsest.hive")
_POLL_S = 0.05
_WATCH_S = 1.0
_GOODBYE_S = 0.5
_SESSIONS_MAX = 100
"""How many sessions a connection may open."""


@dataclass(eq=False, slots=True)
class _Client:
    stream: HiveStream
    address: str
    began_s: float = field(default_factory=time.monotonic)
    credentials: Credentials | None = None
    role: Role | None = None
    user: str = ""
    is_admitted: bool = False
    sessions: list[ThriftSession] = field(default_factory=list)


class HiveServer:
    """Serves a warehouse on sockets that listen already; ``close`` ends all connections."""

    def __init__(
        self, open_session: OpenSession, limits: ServerLimits, admission: Admission
    ) -> None:
        self._open_session = open_session
        self._limits = limits
        self._admission = admission
        self._listeners: list[socket.socket] = []
        self._clients: set[_Client] = set()
        self._lock = threading.Lock()
        self._closes = False
        threading.Thread(target=self._watch, name="palimpsest-hive-watch", daemon=True).start()

    @property
    def connections(self) -> int:
        """How many clients there are."""
        with self._lock:
            return len(self._clients)

    def listen(self, listener: socket.socket) -> None:
        """Take clients of a socket from now on."""
        self._listeners.append(listener)
        threading.Thread(
            target=self._accept, args=(listener,), name="palimpsest-hive", daemon=True
        ).start()

    def close(self, drain_s: float) -> None:
        """Take no new clients; statements may run for so many seconds more, then they stop."""
        self._closes = True
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        end = time.monotonic() + drain_s
        while self._is_busy() and time.monotonic() < end:
            time.sleep(_POLL_S)
        for client in self._all():
            for session in list(client.sessions):
                session.session.cancel()
            _hang_up(client.stream.peer)
        while self.connections and time.monotonic() < end + self._limits.login_s:
            time.sleep(_POLL_S)

    def _is_busy(self) -> bool:
        return any(
            session.is_busy or session.session.in_transaction
            for client in self._all()
            for session in list(client.sessions)
        )

    def _all(self) -> list[_Client]:
        with self._lock:
            return list(self._clients)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                if self._closes:
                    return
                time.sleep(_POLL_S)
                continue
            with suppress(OSError):
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = _Client(HiveStream(peer, self._limits.message_bytes), _host(peer))
            with self._lock:
                is_full = len(self._clients) >= self._limits.connections
                self._clients.add(client)
            threading.Thread(
                target=self._serve, args=(client, is_full), name="palimpsest-hive-client",
                daemon=True,
            ).start()  # fmt: skip

    def _serve(self, client: _Client, is_full: bool) -> None:
        try:
            self._talk(client, is_full)
        except HiveClientGone:
            pass
        except PalimpsestError as error:
            _LOG.info("a connection from %s ends: %s", client.address, error.message)
        except Exception:  # noqa: BLE001 - one client must not end the server
            _LOG.exception("a connection failed")
        finally:
            try:
                for session in list(client.sessions):
                    session.close()
            finally:
                with self._lock:
                    self._clients.discard(client)
                _say_goodbye(client.stream.peer)
                client.stream.peer.close()

    def _talk(self, client: _Client, is_full: bool) -> None:
        stream = client.stream
        stream.peer.settimeout(self._limits.login_s)

        def admit(credentials: Credentials) -> None:
            if is_full:
                raise self._full()
            self._admit(client, credentials)

        client.credentials = stream.begin(self._admission.tls, admit)
        if client.credentials is not None:
            stream.peer.settimeout(None)
        incoming = Incoming(stream.receive, self._limits.message_bytes)
        service = HiveService(
            _ConnectionSessions(self, client, is_full), self._limits.message_bytes
        )
        while True:
            incoming.wait()
            stream.write(service.serve_call(incoming))

    def _full(self) -> PalimpsestError:
        return PalimpsestError(
            Code.TOO_MANY_CONNECTIONS,
            f"{self._limits.connections} clients are connected already",
            advice="close some, or raise max_connections of the server",
        )

    def _admit(self, client: _Client, credentials: Credentials) -> None:
        """Let somebody in; raises LOGIN, PASSWORD, TOO_MANY_CONNECTIONS."""
        role = self._admission.admit_password(
            credentials.user,
            credentials.password,
            client.address,
            is_secure=client.stream.is_secure,
        )
        self._check_limits(client, credentials.user, role)
        client.is_admitted = True

    def _check_limits(self, client: _Client, user: str, role: Role | None) -> None:
        """Raise TOO_MANY_CONNECTIONS where a role, a user or an address has as many as it may."""
        with self._lock:
            client.role, client.user = role, user if role is None else role.name
            others = list(self._clients)
        users, addresses = Counter(o.user for o in others), Counter(o.address for o in others)
        self._limits.check_connections(client.user, client.address, users, addresses)
        count = sum(
            o.role is not None and role is not None and o.role.id == role.id for o in others
        )
        if role is not None and 0 <= role.connection_limit < count:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f'role "{role.name}" has {role.connection_limit} connections already',
                advice="close some, or ALTER ROLE .. CONNECTION LIMIT",
            )

    def _watch(self) -> None:
        """Stop statements of clients that have gone, and what takes too long."""
        while not self._closes:
            time.sleep(_WATCH_S)
            for client in self._all():
                self._look_at(client)

    def _look_at(self, client: _Client) -> None:
        now = time.monotonic()
        sessions = list(client.sessions)
        if not client.sessions and not client.is_admitted:
            if now - client.began_s > self._limits.login_s:
                _hang_up(client.stream.peer)
            return
        for session in sessions:
            session.end_late()
        busy = [session for session in sessions if session.is_busy]
        if busy and _has_left(client.stream.peer):
            for session in busy:
                session.session.cancel()
            _hang_up(client.stream.peer)
        elif not busy and sessions:
            waited = now - max(session.touched_s for session in sessions)
            waits = any(session.session.in_transaction for session in sessions)
            if self._limits.check_waiting(waited, in_transaction=waits) is not None:
                _hang_up(client.stream.peer)

    def open_for(
        self, client: _Client, request: ttypes.TOpenSessionReq, version: int
    ) -> ThriftSession:
        """A session for a client; raises what lets it not in."""
        if not client.is_admitted:
            given = Credentials(request.username or "", request.password or "")
            self._admit(client, given)
            client.credentials = given
            client.stream.peer.settimeout(None)
        if len(client.sessions) >= _SESSIONS_MAX:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"the connection has {_SESSIONS_MAX} sessions",
                advice="close some",
            )
        assert client.credentials is not None
        session = self._open_session(client.credentials.user or None, None, {}, client.role)
        try:
            settings = ClientSettings()
            settings.start(session, request.configuration or {})
            session.activity.describe(
                *("hive", address_of(client.stream.peer)),
                number=next_session_id(),
                terminate=partial(_hang_up, client.stream.peer),
            )
        except BaseException:
            session.close()
            raise
        opened = ThriftSession(session, version, settings, self._limits)
        client.sessions.append(opened)
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
            raise self._server._full()
        return self._server.open_for(self._client, request, version)

    def find(self, handle: ttypes.TSessionHandle) -> ThriftSession:
        """The session of a handle; raises NO_CURSOR."""
        wanted = handle.sessionId
        for session in self._client.sessions:
            if session.id == wanted.guid:
                if secrets.compare_digest(session.secret, wanted.secret or b""):
                    session.touched_s = time.monotonic()
                    return session
        raise PalimpsestError(
            Code.NO_CURSOR, "there is no such session", advice="open one on this connection"
        )

    def all(self) -> list[ThriftSession]:
        """Those of the connection."""
        for session in self._client.sessions:
            session.touched_s = time.monotonic()
        return self._client.sessions

    def close(self, session: ThriftSession) -> None:
        """End a session."""
        self._client.sessions.remove(session)
        session.close()


def _host(peer: socket.socket) -> str:
    return address_of(peer).rpartition(":")[0] or "local"


def _hang_up(peer: socket.socket) -> None:
    with suppress(OSError):
        # That of TLS would let go of what another thread still reads by.
        socket.socket.shutdown(peer, socket.SHUT_RDWR)


def _has_left(peer: socket.socket) -> bool:
    """True if a client has closed its connection; nothing is taken of what it has sent."""
    try:
        return socket.socket.recv(peer, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        return True


def _say_goodbye(peer: socket.socket) -> None:
    """End TLS as clients expect it."""
    if isinstance(peer, ssl.SSLSocket):
        with suppress(OSError, ValueError):
            peer.settimeout(_GOODBYE_S)
            peer.unwrap()
