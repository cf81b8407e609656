"""Asks an LDAP server or an issuer of tokens whether a client is who it claims to be.

They say who; what that role may do is said here. A role with a password of its own is not asked
about elsewhere. Their packages are loaded where an option names them.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass


class ExternalLogin(Protocol):
    """Somebody who is asked whether a password, or a token in its place, is a user's."""

    kind: str
    """What the log calls it."""

    def is_users(self, name: str, password: str) -> bool:
        """True if it is; False too where it cannot be found out, with a line in the log."""

    def claimed_user(self, token: str) -> str | None:
        """Whose a token says that it is, which nobody has looked at yet; None if it is none."""


@dataclass(frozen=True, slots=True)
class ExternalOptions:
    """What options say: of tokens, and of an LDAP server; ``keys`` and ``ldap`` None: not asked.

    ``dn`` is the name that a user binds under, with ``{user}`` in it.
    """

    keys: str | None = None
    issuer: str | None = None
    audience: str | None = None
    claim: str = "sub"
    ldap: str | None = None
    dn: str | None = None
    ldap_ca: Path | None = None


def external_logins(options: ExternalOptions) -> tuple[ExternalLogin, ...]:
    """Whom to ask, tokens first; raises SETTING_VALUE for options that leave a door open."""
    found: list[ExternalLogin] = []
    if options.keys is not None:
        if not options.issuer or not options.audience:
            raise _bad_option(
                "tokens of any issuer, for any program, would let their holders in",
                "give --jwt-issuer and --jwt-audience",
            )
        if "://" in options.keys and urlsplit(options.keys).scheme != "https":
            raise _bad_option("keys that come without TLS could be anybody's", "give an https URL")
        made = _loaded("gateway.access.bearer", "jwt").BearerTokens
        found.append(made(options.keys, options.issuer, options.audience, options.claim))
    if options.ldap is not None:
        scheme = urlsplit(options.ldap).scheme
        if scheme not in {"ldap", "ldaps"}:
            raise _bad_option(f"{options.ldap} is no URL of an LDAP server", "write ldaps://host")
        if "{user}" not in (options.dn or ""):
            raise _bad_option(
                "an LDAP server is asked under the user's own name there",
                "give --ldap-dn, as in 'uid={user},ou=people,dc=example,dc=org'",
            )
        bind = _loaded("gateway.access.ldap_bind", "ldap3").LdapBind
        found.append(bind(options.ldap, options.dn, options.ldap_ca))
    return tuple(found)


def _loaded(module: str, package: str) -> Any:
    if importlib.util.find_spec(package) is None:
        raise _bad_option(
            f"logins from elsewhere need {package}", "pip install 'palimpsest-gateway[logins]'"
        )
    return importlib.import_module(module)


def _bad_option(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice)
