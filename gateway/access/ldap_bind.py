"""Logs users in by an LDAP server: a bind under the user's own name proves who it is.

The way to the server is TLS, from the start or by StartTLS, and its certificate is verified.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import ldap3
from ldap3.core.exceptions import LDAPException
from ldap3.utils.dn import escape_rdn

_LOG = logging.getLogger("palimpsest.login")
_TIMEOUT_S = 5


class LdapBind:
    """Asks one server; ``dn`` has ``{user}`` where the user's name belongs."""

    kind = "LDAP"

    def __init__(self, url: str, dn: str, ca: Path | None) -> None:
        parts = urlsplit(url)
        is_tls = parts.scheme == "ldaps"
        self._dn, self._starts_tls = dn, not is_tls
        tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=None if ca is None else str(ca))
        self._server = ldap3.Server(
            parts.hostname or "localhost",
            port=parts.port or (636 if is_tls else 389),
            use_ssl=is_tls,
            tls=tls,
            get_info=ldap3.NONE,
            connect_timeout=_TIMEOUT_S,
        )

    def claimed_user(self, _token: str) -> None:
        """A password says nobody's name."""

    def is_users(self, name: str, password: str) -> bool:
        """Whether the server takes a password for the user."""
        if not password:
            return False  # A bind without a password succeeds, and says nothing.
        who = self._dn.replace("{user}", escape_rdn(name))
        connection = ldap3.Connection(
            self._server, user=who, password=password, receive_timeout=_TIMEOUT_S
        )
        try:
            connection.open()
            if self._starts_tls and not connection.start_tls():
                _LOG.warning("the LDAP server does not speak TLS: %s", connection.result)
                return False
            return bool(connection.bind())
        except (LDAPException, OSError) as error:
            _LOG.warning("the LDAP server cannot be asked about user %r: %s", name, error)
            return False
        finally:
            _close(connection)


def _close(connection: ldap3.Connection) -> None:
    """End a connection, whatever became of it."""
    opened = connection.socket
    with contextlib.suppress(LDAPException, OSError):
        connection.unbind()
    if opened is not None:
        opened.close()
