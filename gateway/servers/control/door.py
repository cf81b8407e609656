"""Authenticates requests to the control API, and opens a session for each.

    Authorization: Basic ..     name and password of a role
    Authorization: Bearer ..    a token (JWT) of the issuer that the server trusts
    Run-As: ann                 for whom a trusted program asks

Host and Origin are looked at, so that no page of the web makes a browser ask here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from gateway.access.run_as import RUN_AS
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.http.answers import is_own_name
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.session.session import Session
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

FRONT_END = "control"
RUN_AS_HEADER = "run-as"
_HEADER_MAX = 8_192
_NAME_MAX = 200


@dataclass(frozen=True, slots=True)
class ControlCaller:
    """Who sends a request."""

    user: str | None
    role: Role | None
    host: str
    run_as: str | None = None


@dataclass(frozen=True, slots=True)
class ControlDoor:
    """The rules of one port; ``names`` are those that the Host header may have."""

    open_session: OpenSession
    admission: Admission
    limits: ServerLimits
    ending: Ending
    names: frozenset[str]
    is_loopback: bool

    def check_origin(self, headers: Mapping[str, str], scheme: str) -> None:
        """Raise HTTP_REQUEST for another server's name, and for what a page elsewhere sends."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_own_name(host, self.names):
            raise refused("the Host header names another server", "--http-name allows a name")
        if origin is not None and origin != f"{scheme}://{host}":
            raise refused("a page of another origin asks", "ask from a program, or from here")
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            raise refused("a page of another site asks", "ask from a program, or from here")

    def log_in(self, headers: Mapping[str, str], host: str, *, is_secure: bool) -> ControlCaller:
        """Who asks; raises LOGIN, PASSWORD, and STORE_LOST once the end has begun."""
        self.ending.check()
        run_as = headers.get(RUN_AS_HEADER)
        user, password = self._credentials(headers.get("authorization", ""))
        if self.admission.trusts:
            return ControlCaller(user or None, None, host, run_as)
        if not user:
            raise PalimpsestError(
                Code.LOGIN, "the request does not say who sends it", advice="send user and password"
            )
        role = self.admission.admit_password(user, password, host, FRONT_END, is_secure=is_secure)
        return ControlCaller(user if role is None else role.name, role, host, run_as)

    def open(self, caller: ControlCaller) -> Session:
        """A session for one request; raises PRIVILEGE where it may not run as another."""
        given = {} if caller.run_as is None else {RUN_AS: caller.run_as}
        application = f"palimpsest {FRONT_END}"
        with self.admission.noting_run_as(caller.user or "", caller.host, FRONT_END):
            session = self.open_session(caller.user, application, given, caller.role)
        session.activity.describe(FRONT_END, caller.host)
        return session

    def _credentials(self, header: str) -> tuple[str, str]:
        """Name and password of a header, the name a token claims and the token; else nobody."""
        scheme, _, text = header.partition(" ")
        text = text.strip()
        if len(header) > _HEADER_MAX:
            return "", ""
        if scheme.lower() == "bearer":
            logins = self.admission.logins
            return (logins and logins.claimed_user(text)) or "", text
        if scheme.lower() != "basic":
            return "", ""
        try:
            user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return "", ""
        return user[:_NAME_MAX], password


def refused(message: str, advice: str) -> PalimpsestError:
    """The error for a request that HTTP itself makes no good one."""
    return PalimpsestError(Code.HTTP_REQUEST, message, advice=advice)
