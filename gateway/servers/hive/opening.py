"""Opens the port of HiveServer2's protocol on a warehouse."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.admitting import check_place
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.limits import ServerLimits
from gateway.servers.tls import TlsFiles
from gateway.session.session import Session
from journal.model.access import Role
from journal.model.errors import Code, PalimpsestError

PORT = 10_000
OpenSession = Callable[[str | None, str | None, Mapping[str, str], Role | None], Session]


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """Where clients of Hive connect, None for nowhere, and by which rules they come in."""

    address: str | None
    trusts: bool
    tls_files: TlsFiles | None


def check_hive(options: HiveOptions) -> None:
    """Raise SETTING_VALUE for an address that is none, or open to others, or without Thrift."""
    if options.address is None:
        return
    place = parse_address(options.address, PORT)
    check_place(place, trusts=options.trusts, has_tls=options.tls_files is not None)
    if importlib.util.find_spec("thrift") is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "--hive needs the package thrift",
            advice="pip install 'palimpsest-gateway[hive]'",
        )


@contextmanager
def hive_port(
    options: HiveOptions,
    admission: Admission,
    open_session: OpenSession,
    limits: ServerLimits,
    drain_s: float,
) -> Iterator[list[str]]:
    """Answer inside the block; the URL for JDBC if there is a port.

    Raises SETTING_VALUE for an address that cannot be had, and where nobody could log in.
    """
    if options.address is None:
        yield []
        return
    check_hive(options)
    from gateway.servers.hive.server import HiveServer

    place = parse_address(options.address, PORT)
    if not admission.trusts and (admission.logins is None or admission.tls is None):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "clients of Hive send passwords: the port needs a role that may log in, and TLS",
            advice="CREATE USER .. PASSWORD, and give --tls-cert; or --trust-loopback",
        )
    server = HiveServer(open_session, limits, admission)
    listener = tcp_listener(place)
    server.listen(listener)
    shown = Address(*listener.getsockname()[:2])
    ssl = "" if admission.tls is None or admission.trusts else ";ssl=true"
    try:
        yield [f"jdbc:hive2://{shown}/default{ssl}"]
    finally:
        server.close(drain_s)
