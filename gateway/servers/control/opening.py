"""Opens the control port of a server on a warehouse, and closes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.admitting import check_login_port, check_logins, check_packages
from gateway.servers.client_sessions import OpenSession
from gateway.servers.control.door import ControlDoor
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import TlsFiles
from journal.model.lazy_dataclass import dataclass

PORT = 8090


@dataclass(frozen=True, slots=True)
class ControlOptions:
    """Where the port is, None for nowhere, the names it has, and by which rules clients come in."""

    address: str | None
    names: tuple[str, ...]
    trusts: bool
    tls_files: TlsFiles | None


def check_control(options: ControlOptions) -> Address | None:
    """The address of the port; raises SETTING_VALUE for one where no port may be.

    Passwords and tokens would go over it in the clear, so without TLS it takes --trust-loopback.
    """
    if options.address is None:
        return None
    place = parse_address(options.address, PORT)
    has_tls = options.tls_files is not None
    check_login_port(place, "clients of the control API", trusts=options.trusts, has_tls=has_tls)
    check_packages("--control", ("fastapi", "uvicorn"), "control")
    return place


@contextmanager
def control_port(
    options: ControlOptions,
    admission: Admission,
    open_session: OpenSession,
    limits: ServerLimits,
    ending: Ending,
) -> Iterator[list[str]]:
    """Answer inside the block; the URL of the API, if there is a port.

    When the block ends, requests that run may go on for what is left of ``ending``.
    Raises SETTING_VALUE for an address that cannot be had, and where nobody could log in.
    """
    place = check_control(options)
    if place is None:
        yield []
        return
    check_logins(place, admission)
    from gateway.servers.control.control_server import ControlServer

    names = frozenset(name.lower() for name in options.names)
    listener = tcp_listener(place)
    door = ControlDoor(open_session, admission, limits, ending, names, place.is_loopback)
    server = ControlServer(listener, door, options.tls_files)
    try:
        shown = Address(*listener.getsockname()[:2])
        yield [f"{'https' if options.tls_files else 'http'}://{shown}/api/v1/"]
    finally:
        server.close()
