"""Authenticates calls by their headers, and gives clients their tokens.

    Authorization: Basic ..     name and password, with the Handshake or with any call; the answer's
                                header has a token
    Authorization: Bearer ..    that token, with each call that follows

Passwords come under TLS alone, for without it no server with logins listens. A token is 256 random
bits, belongs to one session, and ends with it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import field

from pyarrow import flight

from gateway.access.logins import Logins
from gateway.access.run_as import RUN_AS
from gateway.servers.flight.failures import answering
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_HEADERS_MAX_BYTES = 8_192
_SETTINGS = ("as_of", "schema", "search_path", "timezone", "application_name", RUN_AS)
"""Settings that a client may give as headers, with its login or its first call."""
_ADDRESS = "flight"
"""A call's headers do not say where it comes from; failed logins of a user count together."""
KEY = "login"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as the headers of the call say; ``token`` is that of a session, if it has one."""

    user: str | None = None
    role: Role | None = None
    token: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


StartSession = Callable[[Caller], str]
"""Begins the session of a caller who has logged in; its token."""


class CallerOfCall(flight.ServerMiddleware):  # type: ignore[misc]
    """The caller of one call; tells a client that has logged in its token."""

    def __init__(self, caller: Caller, is_new: bool) -> None:
        super().__init__()
        self.caller = caller
        self._is_new = is_new

    def sending_headers(self) -> dict[str, str]:
        """The token, after a login."""
        if self._is_new and self.caller.token is not None:
            return {"authorization": f"Bearer {self.caller.token}"}
        return {}

    def call_completed(self, exception: Exception | None) -> None:
        """Nothing is left to do."""


class LoginGate(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Looks at the headers of each call before it is served; without logins everybody gets in."""

    def __init__(self, logins: Logins | None, start: StartSession) -> None:
        super().__init__()
        self._logins = logins
        self._start = start

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, list[str]]) -> CallerOfCall:
        """The caller; raises FlightUnauthenticatedError for whoever does not get in."""
        with answering():
            return self._caller(info, headers)

    def _caller(self, info: flight.CallInfo, headers: Mapping[str, list[str]]) -> CallerOfCall:
        given = next(iter(headers.get("authorization", ())), "")
        if len(given) > _HEADERS_MAX_BYTES:
            raise _unreadable()
        kind, _, rest = given.partition(" ")
        settings = {
            name: values[0]
            for name in _SETTINGS
            if (values := headers.get(name) or headers.get(name.replace("_", "-")))
        }
        if kind.lower() == "bearer" and rest:
            return CallerOfCall(Caller(token=rest.strip(), settings=settings), is_new=False)
        if kind.lower() == "basic":
            caller = self._by_password(rest, settings)
            token = self._start(caller)
            return CallerOfCall(Caller(caller.user, caller.role, token, settings), is_new=True)
        if self._logins is not None and not _is_handshake(info):
            raise PalimpsestError(
                Code.LOGIN,
                "the call comes without a login",
                advice="give user and password to the driver; it sends the token it gets",
            )
        return CallerOfCall(Caller(settings=settings), is_new=False)

    def _by_password(self, text: str, settings: Mapping[str, str]) -> Caller:
        try:
            # Drivers in Go leave the padding out.
            padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
            user, sign, password = base64.b64decode(padded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise _unreadable() from error
        if not sign:
            raise _unreadable()
        if self._logins is None:
            return Caller(user, None, None, settings)
        role = self._logins.log_in(user, password, _ADDRESS, "flight")
        return Caller(user, role, None, settings)


class NoHandshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """Lets Handshake pass: who calls is the affair of the headers."""

    def authenticate(self, outgoing: object, incoming: object) -> None:
        """Nothing is exchanged."""

    def is_valid(self, token: bytes) -> bytes:
        """Nobody is named here."""
        return b""


def _is_handshake(info: flight.CallInfo) -> bool:
    return bool(info.method == flight.FlightMethod.HANDSHAKE)


def _unreadable() -> PalimpsestError:
    return PalimpsestError(
        Code.LOGIN,
        "the header Authorization cannot be read",
        advice="send Basic with name and password, or Bearer with the token of a login",
    )
