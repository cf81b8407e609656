"""Opens the port of HiveServer2's protocol on a warehouse."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.admitting import check_packages, check_place
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import TlsFiles
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

PORT, HTTP_PORT = 10_000, 10_001


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """Where clients of Hive connect, None for nowhere, and by which rules they come in.

    ``http_address`` is where the protocol goes over HTTP.
    """

    address: str | None
    http_address: str | None
    trusts: bool
    tls_files: TlsFiles | None

    @property
    def places(self) -> list[tuple[str, int]]:
        """The addresses, and the ports where they give none."""
        given = ((self.address, PORT), (self.http_address, HTTP_PORT))
        return [(address, port) for address, port in given if address is not None]


def check_hive(options: HiveOptions) -> None:
    """Raise SETTING_VALUE for an address that is none, or open to others, or without Thrift."""
    for address, port in options.places:
        check_place(
            parse_address(address, port),
            trusts=options.trusts,
            has_tls=options.tls_files is not None,
        )
    if not options.places:
        return
    check_packages("--hive or --hive-http", ("thrift",), "hive")


@contextmanager
def hive_port(
    options: HiveOptions,
    admission: Admission,
    open_session: OpenSession,
    limits: ServerLimits,
    ending: Ending,
) -> Iterator[list[str]]:
    """Answer inside the block; the URLs for JDBC of the ports there are.

    When the block ends, calls that run may go on for what is left of ``ending``.
    Raises SETTING_VALUE for an address that cannot be had, and where nobody could log in.
    """
    if not options.places:
        yield []
        return
    check_hive(options)
    from gateway.servers.hive.http_server import HiveHttpServer
    from gateway.servers.hive.server import HiveServer

    if not admission.trusts and (admission.logins is None or admission.tls is None):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "clients of Hive send passwords: the port needs a role that may log in, and TLS",
            advice="CREATE USER .. PASSWORD, and give --tls-cert; or --trust-loopback",
        )
    ssl = "" if admission.tls is None or admission.trusts else ";ssl=true"
    with ExitStack() as open_ports:
        urls = []
        if options.address is not None:
            listener = tcp_listener(parse_address(options.address, PORT))
            server = HiveServer(open_session, limits, admission, ending)
            open_ports.callback(server.close)
            server.listen(listener)
            urls.append(f"jdbc:hive2://{_place_of(listener)}/default{ssl}")
        if options.http_address is not None:
            listener = tcp_listener(parse_address(options.http_address, HTTP_PORT))
            http = HiveHttpServer(listener, open_session, limits, admission, ending)
            open_ports.callback(http.close)
            mode = ";transportMode=http;httpPath=cliservice"
            urls.append(f"jdbc:hive2://{_place_of(listener)}/default{mode}{ssl}")
        yield urls


def _place_of(listener: socket.socket) -> Address:
    return Address(*listener.getsockname()[:2])
