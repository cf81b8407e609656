"""Opens the Flight SQL port of a server on a warehouse, and closes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.admitting import check_login_port, check_logins, check_packages
from gateway.servers.client_sessions import OpenSession
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import TlsFiles
from journal.model.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from gateway.servers.flight.clients import FlightClients
    from gateway.servers.flight.flight_server import FlightSqlServer

PORT = 8815
_LOOK_S = 0.5
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class FlightOptions:
    """Where the port is, None for nowhere, and how it speaks TLS."""

    address: str | None
    tls: TlsFiles | None
    trusts: bool


def check_flight(options: FlightOptions) -> Address | None:
    """The address of the port; raises SETTING_VALUE for one where no port may be.

    Passwords would go over it in the clear, so without TLS it takes --trust-loopback.
    """
    if options.address is None:
        return None
    place = parse_address(options.address, PORT)
    has_tls = options.tls is not None
    check_login_port(place, "clients of Flight", trusts=options.trusts, has_tls=has_tls)
    check_packages("--flight", ("google.protobuf", "pyarrow.flight"), "flight")
    return place


@contextmanager
def flight_port(
    options: FlightOptions,
    admission: Admission,
    open_session: OpenSession,
    limits: ServerLimits,
    ending: Ending,
) -> Iterator[list[str]]:
    """Answer inside the block; the URLs of the port, if there is one.

    New calls are refused once the end has begun, and those that run may go on for what is left of
    its time. Raises SETTING_VALUE for an address that
    cannot be had, and where nobody could log in.
    """
    place = check_flight(options)
    if place is None:
        yield []
        return
    check_logins(place, admission)
    port = _FlightPort(place, options, admission, open_session, limits, ending)
    try:
        yield [port.url]
    finally:
        port.close()


class _FlightPort:
    """A server that listens, and the thread that looks after its clients."""

    def __init__(
        self,
        place: Address,
        options: FlightOptions,
        admission: Admission,
        open_session: OpenSession,
        limits: ServerLimits,
        ending: Ending,
    ) -> None:
        from gateway.servers.flight.clients import FlightClients

        self._options, self._limits, self._ending = options, limits, ending
        self._logins = admission.logins
        # gRPC would share a port with another program; an ordinary listener does not. Of a name
        # with several addresses gRPC takes those that are free and leaves the rest to whoever is
        # there, so it gets the one that other ports have too.
        with tcp_listener(place) as listener:
            host = listener.getsockname()[0]
        self.clients: FlightClients = FlightClients(open_session, limits, admission, ending)
        self._place = place
        self._server = self._listen(Address(host, place.port))
        self._place = Address(place.host, self._server.port)
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="palimpsest-flight", daemon=True).start()

    @property
    def url(self) -> str:
        """Where clients find it, as ADBC and Flight write it."""
        scheme = "grpc+tls" if self._options.tls is not None else "grpc"
        return f"{scheme}://{self._place}"

    def close(self) -> None:
        """Let calls that run end within the time that is left, and stop them then."""
        while self._ending.left_s and self.clients.is_busy:
            time.sleep(_POLL_S)
        self._over.set()
        for client in self.clients.all():
            self.clients.end(client)
        stopping = threading.Thread(target=self._server.shutdown, daemon=True)
        stopping.start()
        stopping.join(self._limits.login_s)

    def _listen(self, place: Address) -> FlightSqlServer:
        from gateway.servers.flight.flight_server import FlightSqlServer
        from gateway.servers.flight.login import LoginGate

        files, certificates = self._options.tls, None
        if files is not None:
            certificates = [(files.certificate.read_bytes(), files.key.read_bytes())]
        scheme = "grpc+tls" if certificates else "grpc"
        gate = LoginGate(self._logins, self.clients.start)
        return FlightSqlServer(
            f"{scheme}://{place}", self.clients, gate, self._limits, certificates
        )

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            self.clients.end_overdue()
