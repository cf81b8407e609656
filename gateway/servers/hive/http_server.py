"""HiveServer2's protocol over HTTP: each call is a POST, of whoever its header or cookie says.

Sessions are their login's, whichever connection names them, and end when nobody has named them for
``IDLE_S`` or the server's limit. Pages of the web cannot send calls: the type of their body is
Thrift's own, which browsers ask about first, and nothing answers that.
"""

from __future__ import annotations

import base64
import binascii
import logging
import secrets
import socket
import ssl
import threading
import time
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gateway.servers.addresses import Address
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.hive.client_session import SessionOpener, ThriftSession, session_of
from gateway.servers.hive.client_settings import PROXY_USER
from gateway.servers.hive.messages import Incoming
from gateway.servers.hive.service import HiveService
from gateway.servers.hive.wire import ttypes
from gateway.servers.http.answers import is_own_name
from gateway.servers.http.bounded_server import BoundedHttpServer
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_LOG = logging.getLogger("palimpsest.hive")
PATH, KIND = "/cliservice", "application/x-thrift"
IDLE_S = 3_600.0
_COOKIE = "hive.server2.auth"
_DO_AS = "doAs"
"""Part of a call's address: for whom a trusted proxy calls, as in Hive."""
_COOKIES_MAX = 10_000
_CALL_S = 1_800.0
_WATCH_S = 1.0
_REFUSED_BYTES_MAX = 1 << 16
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class HttpCaller:
    """Who sends a call."""

    user: str
    role: Role | None
    host: str


class HiveHttpServer:
    """Answers calls on a socket that listens already, until ``close``."""

    def __init__(
        self,
        listener: socket.socket,
        open_session: OpenSession,
        limits: ServerLimits,
        admission: Admission,
        ending: Ending,
    ) -> None:
        self.limits = limits
        self.admission = admission
        self._ending = ending
        self._open_session = SessionOpener(open_session, limits)
        self._lock = threading.Lock()
        self._sessions: dict[bytes, tuple[HttpCaller, ThriftSession]] = {}
        self._cookies: OrderedDict[str, tuple[HttpCaller, float]] = OrderedDict()
        self._closes = False
        self._server = _Server(listener, self)
        for work in (self._server.serve_forever, self._watch):
            threading.Thread(target=work, name="palimpsest-hive-http", daemon=True).start()

    def close(self) -> None:
        """Open no session; statements may run for what is left of the end, then they stop."""
        # Calls come by new connections, also those that end transactions.
        while self._ending.left_s and any(s.is_busy or s.in_transaction for s in self.sessions()):
            time.sleep(_POLL_S)
        self._closes = True
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            left = [session for _, session in self._sessions.values()]
            self._sessions.clear()
        for session in left:
            session.session.cancel()
        for session in left:
            session.close()

    def sessions(self, login: HttpCaller | None = None) -> list[ThriftSession]:
        """All sessions, or those of a login."""
        with self._lock:
            known = list(self._sessions.values())
        return [s for owner, s in known if login is None or _is_same(owner, login)]

    def log_in(self, header: str, cookie: str, address: str, *, is_secure: bool) -> HttpCaller:
        """Who sends a call; raises LOGIN, PASSWORD."""
        known = self._by_cookie(cookie)
        if known is not None:
            return HttpCaller(known.user, known.role, address)
        if not header:
            # Hive's driver leaves out what it believes its cookie says, and sends it when asked.
            raise PalimpsestError(
                Code.LOGIN, "the call does not say who sends it", advice="send user and password"
            )
        user, password = _basic(header)
        role = self.admission.admit_password(user, password, address, "hive", is_secure=is_secure)
        return HttpCaller(user if role is None else role.name, role, address)

    def cookie(self, login: HttpCaller) -> str:
        """A cookie by which the same login sends its next calls without its password."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._cookies[token] = (login, time.monotonic())
            if len(self._cookies) > _COOKIES_MAX:
                self._cookies.popitem(last=False)
        return token

    def _by_cookie(self, text: str) -> HttpCaller | None:
        try:
            found = SimpleCookie(text).get(_COOKIE)
        except CookieError:
            return None
        with self._lock:
            login, since_s = self._cookies.get(found.value if found else "", (None, 0.0))
        return login if time.monotonic() - since_s < IDLE_S else None

    def open_for(
        self, login: HttpCaller, request: ttypes.TOpenSessionReq, version: int
    ) -> ThriftSession:
        """A session for a login; raises TOO_MANY_CONNECTIONS, and what settings raise.

        Raises STORE_LOST once the end has begun.
        """
        self._ending.check()
        with self._lock:
            owners = [owner for owner, _ in self._sessions.values()]
        self.limits.check_room(len(owners))
        self.limits.check_client(login, [login, *owners])
        with self.admission.noting_run_as(login.user, login.host, "hive"):
            opened = self._open_session.open_for(
                login.user, login.role, request.configuration or {}, version
            )
        opened.show(login.host, lambda: self.end(opened))
        with self._lock:
            self._sessions[opened.id] = (login, opened)
        return opened

    def end(self, session: ThriftSession) -> None:
        """End a session."""
        with self._lock:
            found = self._sessions.pop(session.id, None)
        if found is not None:
            session.close()

    def _watch(self) -> None:
        while not self._closes:
            time.sleep(_WATCH_S)
            for session in self.sessions():
                session.end_late()
                if not session.is_busy and self._waits_too_long(session):
                    self.end(session)

    def _waits_too_long(self, session: ThriftSession) -> bool:
        waited = time.monotonic() - session.touched_s
        found = self.limits.check_waiting(waited, in_transaction=session.in_transaction)
        return found is not None or (waited > IDLE_S and not self.limits.idle_s)


class _CallerSessions:
    """The sessions of one login; see ``service.Sessions``. New ones run as ``user``, if given."""

    def __init__(self, server: HiveHttpServer, login: HttpCaller, user: str | None) -> None:
        self._server = server
        self._login = login
        self._user = user

    def is_of(self, login: HttpCaller, user: str | None) -> bool:
        """True if they are those of the same login, and for the same user."""
        return _is_same(self._login, login) and self._user == user

    def open(self, request: ttypes.TOpenSessionReq, version: int) -> ThriftSession:
        """A new session; raises what the server raises, and PRIVILEGE for another's user."""
        if self._user is not None:
            request.configuration = {**(request.configuration or {}), PROXY_USER: self._user}
        return self._server.open_for(self._login, request, version)

    def find(self, handle: ttypes.TSessionHandle) -> ThriftSession:
        """The session of a handle; raises NO_CURSOR."""
        return session_of(handle, self._server.sessions(self._login))

    def all(self) -> list[ThriftSession]:
        """Those of the login."""
        return self._server.sessions(self._login)

    def close(self, session: ThriftSession) -> None:
        """End a session."""
        self._server.end(session)


class _Server(BoundedHttpServer):
    def __init__(self, listener: socket.socket, owner: HiveHttpServer) -> None:
        super().__init__(listener, _Handler, owner.limits.connections)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "palimpsest"
    disable_nagle_algorithm = True
    wbufsize = -1
    """Head and body of an answer go together, at once."""
    sys_version = ""

    def setup(self) -> None:
        owner = self.server.owner
        self._accepted = self.request  # As the server knows it; TLS puts another in its place.
        self.request.settimeout(owner.limits.login_s)
        tls = owner.admission.tls
        if tls is not None and self.request.recv(1, socket.MSG_PEEK) == b"\x16":
            self.request = tls.context().wrap_socket(self.request, server_side=True)
        self._service: HiveService | None = None
        self._sessions: _CallerSessions | None = None
        super().setup()

    def finish(self) -> None:
        super().finish()
        if isinstance(self.request, ssl.SSLSocket):
            self.request.close()

    def do_POST(self) -> None:
        owner = self.server.owner
        host = Address(*self.server.server_address[:2])  # type: ignore[arg-type]
        size = self.headers.get("Content-Length", "")
        if self.path.split("?")[0].rstrip("/") != PATH:
            return self._refuse(404, "calls go to /cliservice")
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != KIND:
            return self._refuse(415, f"the body of a call is {KIND}")
        if host.is_loopback and not is_own_name(self.headers.get("Host", ""), frozenset()):
            return self._refuse(403, "the Host header is no name of this server")
        if not size.isdigit():
            return self._refuse(411, "a call has a Content-Length")
        if int(size) > owner.limits.message_bytes:
            return self._refuse(413, "the call is too long")
        secure = isinstance(self.request, ssl.SSLSocket)
        try:
            login = owner.log_in(
                self.headers.get("Authorization", ""),
                self.headers.get("Cookie", ""),
                str(self.client_address[0]),
                is_secure=secure,
            )
        except PalimpsestError as error:
            status = 429 if error.code is Code.LOGIN_RATE else 401
            return self._refuse(
                status, f"{error.message} ({error.code.value.code}): {error.advice}"
            )
        body = self.rfile.read(int(size))
        self.server.begin_answer(self._accepted)
        self.request.settimeout(_CALL_S)
        user = parse_qs(urlsplit(self.path).query).get(_DO_AS, [None])[-1]
        sessions = self._sessions
        if self._service is None or sessions is None or not sessions.is_of(login, user):
            sessions = self._sessions = _CallerSessions(owner, login, user)
            self._service = HiveService(sessions, owner.limits.message_bytes)
        incoming = Incoming(lambda: b"", len(body))
        incoming.put(body)
        try:
            answer = self._service.serve_call(incoming)
        except PalimpsestError as error:
            del self.headers["Content-Length"]
            return self._refuse(400, error.message)
        self.send_response(200)
        if _COOKIE not in self.headers.get("Cookie", ""):
            flags = "; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
            self.send_header("Set-Cookie", f"{_COOKIE}={owner.cookie(login)}{flags}")
        self.send_header("Content-Type", KIND)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        return None

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        size = self.headers.get("Content-Length", "")
        if size.isdigit() and int(size) <= _REFUSED_BYTES_MAX:
            # What nobody has read would take the answer with it.
            self.rfile.read(int(size))
        text = why.encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="palimpsest"')
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Calls are many; statements are logged where they are slow."""


def _basic(header: str) -> tuple[str, str]:
    """User and password of a header; nobody for any other header."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, password


def _is_same(a: HttpCaller, b: HttpCaller) -> bool:
    role = None if a.role is None else a.role.id
    return a.user == b.user and role == (None if b.role is None else b.role.id)
