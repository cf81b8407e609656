"""Checks passwords of roles at login, and delays clients that guess.

Whoever is unknown is asked for a password like everybody, against a verifier that no password has,
so that an answer does not say which users there are.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime

from gateway.access.external import ExternalLogin
from gateway.access.login_log import LoginLog
from gateway.access.login_rate import LoginRate
from gateway.access.scram import ITERATIONS, SALT_BYTES, Verifier, is_password, parsed_verifier
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot

_LOG = logging.getLogger("palimpsest.login")
_FREE_FAILURES = 3
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 8.0
_FORGOTTEN_AFTER_S = 900.0
_KNOWN_MAX = 10_000
_REASONS = {
    Code.PASSWORD: "password",
    Code.LOGIN: "not allowed",
    Code.PROTOCOL: "malformed",
    Code.LOGIN_RATE: "rate",
}
"""What the login log calls the reasons of refusals."""


def has_logins(catalog: CatalogSnapshot, *, elsewhere: bool = False) -> bool:
    """True if some role may log in, with a password of its own or one known ``elsewhere``."""
    roles = catalog.access.roles.values()
    return any(r.can_login and (elsewhere or r.verifier) for r in roles)


@dataclass(frozen=True, slots=True)
class Login:
    """Somebody at the door: the role of that name if there is one, and what to check against."""

    name: str
    role: Role | None
    verifier: Verifier
    may_succeed: bool


class Logins:
    """The logins of one server; ``catalog`` gives that of now, ``secret`` stays while it runs.

    ``external`` are asked about roles that have no password of their own; ``log`` is told how each
    attempt ends; ``rate`` says how many there may be.
    """

    def __init__(
        self,
        catalog: Callable[[], CatalogSnapshot],
        secret: bytes,
        now: Callable[[], datetime],
        external: Sequence[ExternalLogin] = (),
        log: LoginLog | None = None,
        rate: LoginRate | None = None,
    ) -> None:
        self._rate = rate or LoginRate()
        self._external = external
        self._login_log = log
        self._catalog = catalog
        self._secret = secret
        self._now = now
        self._failures: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, name: str) -> Login:
        """The login of a name, which may be nobody's."""
        role = self._catalog().access.by_name(name)
        known = None if role is None or role.verifier is None else parsed_verifier(role.verifier)
        if role is None or known is None:
            return Login(name, role, self._mock(name), may_succeed=False)
        return Login(name, role, known, may_succeed=not self._is_expired(role))

    def sends_password(self, login: Login) -> bool:
        """True for somebody whose password is known elsewhere, and so has to be sent.

        So it is for nobody's name, so that an answer does not say whether there is such a role.
        """
        return bool(self._external) and (login.role is None or login.role.verifier is None)

    def admit(self, login: Login, address: str, front_end: str, by: str) -> Role:
        """The role of somebody who has shown who they are; raises LOGIN if it may not log in.

        ``by`` says how, for the log.
        """
        role = login.role
        if role is None or not role.can_login:
            reason = f'role "{login.name}" may not log in'
            raise self.refuse(
                login.name,
                address,
                front_end,
                PalimpsestError(Code.LOGIN, reason, advice="ALTER ROLE .. LOGIN"),
            )
        self.note(role.name, address, succeeded=True)
        _LOG.info("login: user %r from %s by %s", role.name, address, by)
        if self._login_log is not None:
            self._login_log.note(role.name, address, front_end, "login", by)
        return role

    def refuse(
        self, name: str, address: str, front_end: str, error: PalimpsestError
    ) -> PalimpsestError:
        """Log that somebody is not let in; the error given, to be raised.

        A wrong password makes the next answers to the user slower.
        """
        if error.code is Code.PASSWORD:
            self.note(name, address, succeeded=False)
        _LOG.warning("login refused: user %r from %s", name, address)
        if self._login_log is not None:
            self._login_log.note(name, address, front_end, "refused", _REASONS[error.code])
        return error

    def note_refused_run_as(self, name: str, address: str, front_end: str) -> None:
        """Log that a login asked to run as a user whom it may not run as."""
        _LOG.warning("run as refused: user %r from %s", name, address)
        if self._login_log is not None:
            self._login_log.note(name, address, front_end, "refused", "run as")

    def log_in(self, name: str, password: str, address: str, front_end: str) -> Role:
        """The role of somebody who has sent a password; raises PASSWORD, LOGIN, LOGIN_RATE.

        Front ends whose protocol sends passwords ask here, once the way to them is safe. The answer
        is held back the longer, the more often the same user failed from the same address.
        """
        login = self.find(name)
        self.hold_back(name, address, front_end)
        how = self._vouched(login, password)
        if how is None:
            raise self.refuse(name, address, front_end, wrong_password(name))
        return self.admit(login, address, front_end, how)

    def claimed_user(self, token: str) -> str | None:
        """Whose a token says that it is, for ``log_in`` to find out; None if it says nobody's."""
        names = (external.claimed_user(token) for external in self._external)
        return next((name for name in names if name is not None), None)

    def close(self) -> None:
        """Write what the log has not written yet."""
        if self._login_log is not None:
            self._login_log.close()

    def _vouched(self, login: Login, password: str) -> str | None:
        """By what a password is found to be the user's; None if it is not."""
        if not self.sends_password(login):
            fits = is_password(login.verifier, password) and login.may_succeed
            return "password" if fits else None
        role = login.role
        if role is None or self._is_expired(role) or not password:
            return None
        return next((e.kind for e in self._external if e.is_users(role.name, password)), None)

    def hold_back(self, name: str, address: str, front_end: str) -> None:
        """Wait before the answer to a user; raises LOGIN_RATE where an address comes too often."""
        try:
            self._rate.take(name, address)
        except PalimpsestError as error:
            raise self.refuse(name, address, front_end, error) from error
        time.sleep(self.wait_s(name, address))

    def wait_s(self, name: str, address: str) -> float:
        """How long the next answer to a user at an address is held back, in seconds."""
        with self._lock:
            count, at = self._failures.get((name, address), (0, 0.0))
        if count < _FREE_FAILURES or time.monotonic() - at > _FORGOTTEN_AFTER_S:
            return 0.0
        return float(min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (count - _FREE_FAILURES)))

    def note(self, name: str, address: str, *, succeeded: bool) -> None:
        """Remember how a login ended."""
        key = (name, address)
        with self._lock:
            count, _ = self._failures.pop(key, (0, 0.0))
            if not succeeded:
                self._failures[key] = (count + 1, time.monotonic())
                if len(self._failures) > _KNOWN_MAX:
                    self._failures.popitem(last=False)

    def _is_expired(self, role: Role) -> bool:
        until = role.valid_until
        return until is not None and datetime.fromisoformat(until) <= self._now()

    def _mock(self, name: str) -> Verifier:
        salt = hmac.digest(self._secret, name.encode(), "sha256")[:SALT_BYTES]
        keys = hashlib.sha512(self._secret + salt).digest()
        return Verifier(ITERATIONS, salt, keys[:32], keys[32:])


def passwords_need_tls() -> PalimpsestError:
    """The error for a password that would come in the clear."""
    return PalimpsestError(
        Code.LOGIN,
        "the server takes passwords under TLS only",
        advice="connect with TLS; the server needs --tls-cert for it",
    )


def wrong_password(name: str) -> PalimpsestError:
    """The error for whoever does not get in, whatever the reason."""
    return PalimpsestError(
        Code.PASSWORD,
        f'password authentication failed for user "{name}"',
        advice="check name and password; VALID UNTIL may be over",
    )
