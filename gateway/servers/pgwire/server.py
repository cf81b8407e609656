"""Listens for clients of the PostgreSQL protocol, and gives each a thread and a session.

Who gets in is the affair of ``admission``.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import ssl
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gateway.activity.activity import next_session_id
from gateway.servers.addresses import address_of
from gateway.servers.client_sessions import OpenSession
from gateway.servers.limits import ServerLimits
from gateway.servers.pg_catalog.reader import CatalogReader
from gateway.servers.pgwire import messages
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.connection import ClientConnection
from gateway.servers.pgwire.startup import CancelRequest, Greeting, greeting
from gateway.servers.pgwire.stream import ClientGone, MessageStream
from gateway.servers.pgwire.tags import error_fields
from gateway.session.session import Session
from gateway.version import VERSION
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError

_LOG = logging.getLogger("palimpsest.pgwire")
SERVER_VERSION = "15.0"
"""The version of PostgreSQL whose dialect is spoken; drivers look at it."""
_POLL_S = 0.05
_GOODBYE_S = 0.5
_WATCH_S = 1.0
"""How often the server looks whether clients whose statements run are still there."""


@dataclass(slots=True)
class _Client:
    peer: socket.socket
    session: Session | None = None
    pid: int = 0
    secret: bytes = b""
    role: int | None = None
    user: str = ""
    address: str = ""
    stream: MessageStream | None = None
    end: PalimpsestError | None = None
    """Why the server ends the connection."""


class PostgresServer:
    """Serves a warehouse on sockets that listen already; ``close`` ends all connections."""

    def __init__(
        self, open_session: OpenSession, limits: ServerLimits, admission: Admission
    ) -> None:
        self._open_session = open_session
        self._limits = limits
        self._admission = admission
        self._listeners: list[socket.socket] = []
        self._clients: dict[int, _Client] = {}
        self._lock = threading.Lock()
        self._closes = False
        threading.Thread(target=self._watch, name="palimpsest-watch", daemon=True).start()

    @property
    def connections(self) -> int:
        """How many clients there are."""
        with self._lock:
            return len(self._clients)

    def listen(self, listener: socket.socket) -> None:
        """Take clients of a socket from now on."""
        self._listeners.append(listener)
        name = f"palimpsest-pgwire-{len(self._listeners)}"
        threading.Thread(target=self._accept, args=(listener,), name=name, daemon=True).start()

    def close(self, drain_s: float) -> None:
        """Take no new clients; statements may run for so many seconds more, then they stop."""
        self._closes = True
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        end = time.monotonic() + drain_s
        while self._busy() and time.monotonic() < end:
            time.sleep(_POLL_S)
        for client in self._all():
            if client.session is not None:
                client.session.cancel()
            _hang_up(client.peer)
        while self.connections and time.monotonic() < end + self._limits.login_s:
            time.sleep(_POLL_S)

    def _busy(self) -> bool:
        sessions = [client.session for client in self._all()]
        return any(
            s is not None and (s.in_transaction or s.cancellation.is_running) for s in sessions
        )

    def _all(self) -> list[_Client]:
        with self._lock:
            return list(self._clients.values())

    def _watch(self) -> None:
        """Stop the statements of clients that have gone, and what takes too long."""
        while not self._closes:
            time.sleep(_WATCH_S)
            for client in self._all():
                if client.session is not None and client.stream is not None:
                    self._look_at(client, client.session, client.stream)

    def _look_at(self, client: _Client, session: Session, stream: MessageStream) -> None:
        limits = self._limits
        if session.cancellation.is_running:
            last = session.activity.last
            why = None
            if last is not None and last.seconds is None:
                why = limits.check_running(last.elapsed_s)
            if why is not None:
                session.cancellation.cancel(why)
            elif _has_left(client):
                session.cancel()
            return
        waited = time.monotonic() - stream.touched_s
        client.end = limits.check_waiting(waited, in_transaction=session.in_transaction)
        if client.end is not None:
            with suppress(OSError):
                # It reads no more, and writes why.
                socket.socket.shutdown(client.peer, socket.SHUT_RD)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                if self._closes:
                    return
                time.sleep(_POLL_S)
                continue
            if peer.family != socket.AF_UNIX:
                with suppress(OSError):
                    # An answer of several messages does not wait for word that the first came.
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                client = _Client(peer, pid=next_session_id())
                is_full = len(self._clients) >= self._limits.connections
                self._clients[client.pid] = client
            thread = threading.Thread(
                target=self._serve, args=(client, is_full), name="palimpsest-client", daemon=True
            )
            thread.start()

    def _serve(self, client: _Client, is_full: bool) -> None:
        stream = MessageStream(client.peer, self._limits.message_bytes)
        try:
            self._talk(client, stream, is_full)
        except PalimpsestError as error:
            with suppress(ClientGone):
                stream.write(messages.error_response(error_fields(error, severity="FATAL")))
                stream.flush()
        except ClientGone:
            if client.end is not None:
                with suppress(ClientGone):
                    fields = error_fields(client.end, severity="FATAL")
                    stream.write(messages.error_response(fields))
                    stream.flush()
        except Exception:  # noqa: BLE001 - one client must not end the server
            _LOG.exception("a connection failed")
        finally:
            try:
                if client.session is not None:
                    client.session.close()
            finally:
                with self._lock:
                    del self._clients[client.pid]
                _say_goodbye(client.peer)
                client.peer.close()

    def _talk(self, client: _Client, stream: MessageStream, is_full: bool) -> None:
        client.peer.settimeout(self._limits.login_s)
        begun = greeting(stream, self._admission.tls)
        client.peer = stream.peer
        if isinstance(begun, CancelRequest):
            self._cancel(begun)
            return
        if is_full:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f"{self._limits.connections} clients are connected already",
                advice="close some, or raise max_connections of the server",
            )
        client.stream = stream
        role = self._admission.admit(stream, begun)
        self._check_limits(client, begun, role)
        client.session = self._session(begun, role)
        client.session.activity.describe(
            *("postgresql", address_of(client.peer)),
            number=client.pid,
            terminate=partial(_hang_up, client.peer),
        )
        client.secret = secrets.token_bytes(begun.secret_bytes)
        client.peer.settimeout(None)
        stream.write(messages.AUTHENTICATION_OK)
        for name, value in self._parameter_statuses(begun, client.session).items():
            stream.write(messages.parameter_status(name, value))
        stream.write(messages.backend_key(client.pid, client.secret))
        version = f"PostgreSQL {SERVER_VERSION} (Palimpsest {VERSION})"
        catalog = CatalogReader(client.session, version, client.pid)
        connection = ClientConnection(stream, client.session, catalog, self._limits)
        try:
            connection.serve()
        finally:
            connection.close()

    def _check_limits(self, client: _Client, begun: Greeting, role: Role | None) -> None:
        """Raise TOO_MANY_CONNECTIONS where a role, a user or an address has as many as it may."""
        user = begun.parameters.get("user", "") if role is None else role.name
        address = address_of(client.peer).rpartition(":")[0] or "local"
        with self._lock:
            client.user, client.address = user, address
            client.role = None if role is None else role.id
            others = list(self._clients.values())
        users, addresses = Counter(o.user for o in others), Counter(o.address for o in others)
        self._limits.check_connections(user, address, users, addresses)
        count = sum(other.role == client.role for other in others)
        if role is not None and 0 <= role.connection_limit < count:
            raise PalimpsestError(
                Code.TOO_MANY_CONNECTIONS,
                f'role "{role.name}" has {role.connection_limit} connections already',
                advice="close some, or ALTER ROLE .. CONNECTION LIMIT",
            )

    def _session(self, begun: Greeting, role: Role | None) -> Session:
        given = {
            name: value
            for name, value in begun.parameters.items()
            if name not in {"user", "database", "options", "replication", "application_name"}
            and not name.startswith("_pq_.")
        }
        given |= _options(begun.parameters.get("options", ""))
        if begun.parameters.get("replication", "false") not in {"false", "off", "no", "0"}:
            raise PalimpsestError(
                Code.NOT_SUPPORTED, "there is no replication protocol", advice="connect without it"
            )
        application = begun.parameters.get("application_name")
        return self._open_session(begun.parameters.get("user"), application, given, role)

    def _parameter_statuses(self, begun: Greeting, session: Session) -> dict[str, str]:
        return {
            "server_version": f"{SERVER_VERSION} (Palimpsest {VERSION})",
            "server_encoding": "UTF8",
            "client_encoding": "UTF8",
            "application_name": begun.parameters.get("application_name", ""),
            "DateStyle": "ISO, YMD",
            "IntervalStyle": "postgres",
            "TimeZone": session.settings.timezone or "UTC",
            "integer_datetimes": "on",
            "standard_conforming_strings": "on",
            "default_transaction_read_only": session.settings.default_transaction_read_only,
            "in_hot_standby": "off",
            "is_superuser": "on" if _is_admin(session) else "off",
            "session_authorization": begun.parameters.get("user", ""),
        }

    def _cancel(self, request: CancelRequest) -> None:
        with self._lock:
            client = self._clients.get(request.pid)
        if client is not None and client.session is not None:
            if secrets.compare_digest(client.secret, request.secret):
                client.session.cancel()


def _hang_up(peer: socket.socket) -> None:
    with suppress(OSError):
        # That of TLS would let go of what another thread still reads by.
        socket.socket.shutdown(peer, socket.SHUT_RDWR)


def _say_goodbye(peer: socket.socket) -> None:
    """End TLS as clients expect it; without that they take an end for a loss."""
    if isinstance(peer, ssl.SSLSocket):
        with suppress(OSError, ValueError):
            peer.settimeout(_GOODBYE_S)
            peer.unwrap()


def _is_admin(session: Session) -> bool:
    return session.catalog.rights_of(session.settings.role).is_admin


def _has_left(client: _Client) -> bool:
    """True if a client has said goodbye or closed; nothing is taken of what it has sent."""
    try:
        flags = socket.MSG_PEEK | socket.MSG_DONTWAIT
        # Under TLS as well, what has arrived is looked at as it is.
        return socket.socket.recv(client.peer, 1, flags) in (b"", b"X")
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        return True


def _options(text: str) -> dict[str, str]:
    """The settings of ``options``, as drivers spell them: ``-c name=value --name=value``."""
    words = text.replace("\\ ", "\0").split()
    found: dict[str, str] = {}
    while words:
        word = words.pop(0).replace("\0", " ")
        if word == "-c" and words:
            word = words.pop(0).replace("\0", " ")
        word = word.removeprefix("-c").removeprefix("--")
        name, sign, value = word.partition("=")
        if not sign:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"the option {word} has no value",
                advice="write options as -c name=value",
            )
        found[name.replace("-", "_")] = value
    return found


def unix_listener(folder: Path, port: int) -> socket.socket:
    """A socket that psql finds with ``-h folder -p port``, for this user alone.

    Raises NOT_SHARED if another server listens there, or for a folder whose path is too long.
    """
    path = socket_path(folder, port)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(str(path))
            raise PalimpsestError(
                Code.NOT_SHARED,
                f"a server listens at {path} already",
                advice="choose another port, or end that server",
            )
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            found.bind(str(path))
        finally:
            os.umask(before)
        found.listen(128)
    except OSError as error:
        found.close()
        raise PalimpsestError(
            Code.NOT_SHARED,
            f"{path} cannot be listened at: {error.strerror or error}",
            advice="name another folder with --socket-dir, one with a short path",
        ) from error
    except BaseException:
        found.close()
        raise
    return found


def socket_path(folder: Path, port: int) -> Path:
    """Where PostgreSQL's clients look for the socket of a port."""
    return folder / f".s.PGSQL.{port}"
