"""Listens for clients of the PostgreSQL protocol, and gives each a thread and a session.

Who gets in is the affair of ``admission``.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from gateway.activity.activity import next_session_id
from gateway.servers.addresses import address_of, host_of
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pg_catalog.database import IdleDatabases
from gateway.servers.pg_catalog.reader import CatalogReader
from gateway.servers.pgwire import messages
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.connection import ClientConnection
from gateway.servers.pgwire.nodes import ServerNodes
from gateway.servers.pgwire.reported_settings import ReportedSettings
from gateway.servers.pgwire.startup import CancelRequest, Greeting, greeting
from gateway.servers.pgwire.stream import ClientGone, MessageStream
from gateway.servers.pgwire.tags import error_fields
from gateway.servers.sockets import SocketServer, has_left, stop_reading
from gateway.session.session import Session
from gateway.session.taken_settings import SERVER_VERSION
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_GOODBYE = b"X"


@dataclass(eq=False, slots=True)
class _Client:
    peer: socket.socket
    pid: int
    session: Session | None = None
    secret: bytes = b""
    role: Role | None = None
    user: str = ""
    host: str = ""
    stream: MessageStream | None = None
    connection: ClientConnection | None = None
    end: PalimpsestError | None = None
    """Why the server ends the connection."""

    @property
    def is_busy(self) -> bool:
        """See ``SocketClient``."""
        if self.session is None or self.connection is None:
            return False
        return self.session.in_transaction or self.connection.is_answering

    def cancel(self) -> None:
        """Stop what runs."""
        if self.session is not None:
            self.session.cancel()

    def let_go(self, why: PalimpsestError) -> None:
        """See ``SocketClient``."""
        self.end = why
        if self.session is not None and self.session.cancellation.is_running:
            self.session.cancellation.cancel(why)
        if self.stream is None:
            stop_reading(self.peer)
        else:
            self.stream.stop_reading()

    def close(self) -> None:
        """End the session."""
        if self.session is not None:
            self.session.close()


class PostgresServer(SocketServer[_Client]):
    """Serves a warehouse to clients of PostgreSQL."""

    def __init__(
        self,
        open_session: OpenSession,
        limits: ServerLimits,
        admission: Admission,
        ending: Ending,
        nodes: ServerNodes | None = None,
    ) -> None:
        self._nodes = nodes or ServerNodes()
        self._open_session = open_session
        self._admission = admission
        self._catalogs = IdleDatabases()
        super().__init__("pgwire", limits, ending)

    def _meet(self, peer: socket.socket) -> _Client:
        return _Client(peer, self._nodes.process_id(next_session_id()))

    def _look_at(self, client: _Client) -> None:
        session, stream, limits = client.session, client.stream, self._limits
        if session is None or stream is None:
            return
        if session.cancellation.is_running:
            last = session.activity.last
            why = None
            if last is not None and last.seconds is None:
                why = limits.check_running(last.elapsed_s)
            if why is not None:
                session.cancellation.cancel(why)
            elif has_left(client.peer, _GOODBYE):
                session.cancel()
            return
        waited = time.monotonic() - stream.touched_s
        limits = limits.with_settings(session.settings)
        client.end = limits.check_waiting(waited, in_transaction=session.in_transaction)
        if client.end is not None:
            stream.stop_reading()

    def _talk(self, client: _Client, *, is_full: bool) -> None:
        stream = MessageStream(client.peer, self._limits.message_bytes)
        why: PalimpsestError | None = None
        try:
            self._answer(client, stream, is_full)
        except PalimpsestError as error:
            why = error
        except ClientGone:
            why = client.end
        if why is not None:
            with suppress(ClientGone):
                stream.write(messages.error_response(error_fields(why, severity="FATAL")))
                stream.flush()

    def _answer(self, client: _Client, stream: MessageStream, is_full: bool) -> None:
        client.peer.settimeout(self._limits.login_s)
        begun = greeting(stream, self._admission.tls)
        client.peer = stream.peer
        if isinstance(begun, CancelRequest):
            self._cancel(begun)
            return
        if is_full:
            self._limits.check_room(self._limits.connections)
        client.stream = stream
        role = client.role = self._admission.admit(stream, begun)
        client.user = begun.parameters.get("user", "") if role is None else role.name
        client.host = host_of(client.peer)
        self._limits.check_client(client, self.clients())
        with self._admission.noting_run_as(client.user, client.host, "postgresql"):
            client.session = self._session(begun, role)
        client.session.activity.describe(
            *("postgresql", address_of(client.peer)),
            number=client.pid,
            terminate=partial(client.let_go, _terminated()),
        )
        client.secret = secrets.token_bytes(begun.secret_bytes)
        client.peer.settimeout(None)
        stream.write(messages.AUTHENTICATION_OK)
        reported = ReportedSettings(client.session)
        for name, value in reported.changes().items():
            stream.write(messages.parameter_status(name, value))
        stream.write(messages.backend_key(client.pid, client.secret))
        catalog = CatalogReader(
            client.session,
            f"PostgreSQL {SERVER_VERSION}",
            client.pid,
            self._catalogs,
            begun.parameters.get("database", ""),
        )
        client.connection = ClientConnection(
            stream, client.session, catalog, self._limits, reported
        )
        try:
            client.connection.serve()
        finally:
            client.connection.close()

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

    def _cancel(self, request: CancelRequest) -> None:
        client = next((c for c in self.clients() if c.pid == request.pid), None)
        if client is not None and secrets.compare_digest(client.secret, request.secret):
            client.cancel()
        elif client is None:
            self._nodes.forward(request)


def _terminated() -> PalimpsestError:
    return PalimpsestError(
        Code.TERMINATED,
        "an administrator has ended the connection",
        advice="connect again; what was not committed is rolled back",
    )


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
