"""How a session with a server begins on the wire: sockets, TLS, SASL, and Kerberos tickets.

The socket waits only so long for a host that does not answer. Which answers mean what is told by
``hive_errors``; the session itself is the driver's.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from thrift.transport import TSocket, TSSLSocket, TTransport

from journal.files.tcp_keepalive import SILENCE_S
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.stores.hive.client.errors import no_ticket

KERBEROS = "KERBEROS"
ANSWER_S = 600.0
"""How long a call may go unanswered, and a metastore answer nobody, where a URL says nothing."""


@dataclass(frozen=True, slots=True)
class Server:
    """How to reach a server; ``repr`` does not show the password."""

    host: str
    port: int
    user: str
    database: str
    auth: str = "NONE"
    password: str | None = field(default=None, repr=False)
    kerberos_service: str | None = None
    ssl: bool = False
    ca_file: str | None = None
    connect_timeout_s: float = 10.0
    silence_timeout_s: int = SILENCE_S
    answer_timeout_s: float = ANSWER_S
    statement_timeout_ms: int = 0
    configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        """The server, for people."""
        return f"{self.database} on {self.host}:{self.port}"


class _TlsSocket(TSSLSocket.TSSLSocket):  # type: ignore[misc]
    """May be closed when it is closed already, or was never open, as the plain one may."""

    def close(self) -> None:
        if self.handle is not None:
            super().close()


def socket_to(server: Server) -> Any:
    """A socket, not open yet."""
    if server.ssl:
        socket = _TlsSocket(server.host, server.port, ca_certs=server.ca_file)
    else:
        socket = TSocket.TSocket(server.host, server.port)
    socket.setTimeout(server.connect_timeout_s * 1000)
    return socket


def transport(server: Server, socket: Any, sasl_client: Callable[..., Any]) -> Any:
    """What a session is spoken over; ``sasl_client`` makes what logs in, as the driver does."""
    if server.auth == "NOSASL":
        return TTransport.TBufferedTransport(socket)
    import thrift_sasl

    if server.auth == KERBEROS:
        _check_kerberos()
    mechanism = "GSSAPI" if server.auth == KERBEROS else "PLAIN"

    def client() -> Any:
        made = sasl_client(
            host=server.host,
            sasl_auth=mechanism,
            service=server.kerberos_service,
            username=server.user,
            password=server.password or "x",
        )
        return _Ticketed(made) if server.auth == KERBEROS else made

    return thrift_sasl.TSaslClientTransport(client, mechanism, socket)


def _check_kerberos() -> None:
    """Raise DRIVER_MISSING where nothing can speak with a key distribution centre."""
    if not any(importlib.util.find_spec(n) for n in ("sasl", "kerberos", "winkerberos")):
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "auth=KERBEROS needs a package that is not installed: kerberos",
            advice="pip install kerberos, or use another auth",
        )


class _Ticketed:
    """A SASL client whose steps say, in our terms, what keeps a ticket from being used."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def step(*arguments: Any) -> Any:
            try:
                return found(*arguments)
            except _failures() as error:
                raise no_ticket(_error_texts(error)) from error

        return step


def _failures() -> tuple[type[Exception], ...]:
    """What the packages raise that speak GSSAPI."""
    from puresasl import SASLError

    try:
        import kerberos
    except ImportError:
        return (SASLError,)
    return (SASLError, kerberos.KrbError)


def _error_texts(error: Exception) -> str:
    """The texts of an error that comes as pairs of texts and numbers."""
    parts = [a[0] if isinstance(a, tuple) and a else a for a in error.args]
    return ": ".join(str(part) for part in parts)
