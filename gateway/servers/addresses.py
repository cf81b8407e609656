"""Addresses that servers listen at, as options and configuration files give them."""

from __future__ import annotations

import ipaddress
import socket

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 has the system choose one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True for an address that no other machine reaches."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str, default_port: int) -> Address:
    """``host:port``, ``[::1]:port``, a host or a port alone; raises SETTING_VALUE."""
    host, _, port = text.rpartition(":") if not text.isdigit() else ("", "", text)
    if text.endswith("]") or (":" not in text and not text.isdigit()):
        host, port = text, str(default_port)
    if not port.isdigit() or int(port) > 65_535:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{text} is no address to listen at",
            advice="write host:port, such as 127.0.0.1:5433",
        )
    return Address(host.strip("[]") or "127.0.0.1", int(port))


def tcp_listener(address: Address) -> socket.socket:
    """A socket that listens there; raises SETTING_VALUE for an address that cannot be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=128)
    except OSError as error:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{address} cannot be listened at: {error.strerror or error}",
            advice="choose another port, or end the program that has this one",
        ) from error


def address_of(peer: socket.socket) -> str:
    """Where the other end of a connection is: ``host:port``, or ``local`` for a Unix socket."""
    if peer.family == socket.AF_UNIX:
        return "local"
    try:
        host, port, *_ = peer.getpeername()
    except OSError:
        return "gone"
    return str(Address(host, port))


def host_of(peer: socket.socket) -> str:
    """The same without the port."""
    return address_of(peer).rpartition(":")[0] or "local"
