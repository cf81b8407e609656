"""Servers behind a load balancer: finds the one that a cancel key belongs to.

A client sends its cancel request by a new connection, which may reach any of the servers. The
number of the session says whose it is; another server passes the request on, once.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from gateway.servers.addresses import Address, parse_address
from gateway.servers.pgwire.startup import FORWARDED_CANCEL, CancelRequest
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

NODES = 1_024
_SESSION_BITS = 20
_PORT = 5433
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerNodes:
    """The number of a server, and where the others listen, by their numbers."""

    number: int = 0
    peers: Mapping[int, Address] = field(default_factory=dict)

    def process_id(self, session: int) -> int:
        """What clients call a session by: a positive number of 31 bits with the node's in it."""
        if not self.number and not self.peers:
            return session & 0x7FFF_FFFF
        return self.number << _SESSION_BITS | session & ((1 << _SESSION_BITS) - 1)

    def forward(self, request: CancelRequest) -> bool:
        """Pass a request on if it is for a server that is known here; False if it is not.

        Nobody waits for what comes of it: a cancel request has no answer.
        """
        peer = self.peers.get(request.pid >> _SESSION_BITS)
        if peer is None or request.is_forwarded:
            return False
        body = struct.pack("!ii", FORWARDED_CANCEL, request.pid) + request.secret
        with suppress(OSError):
            with socket.create_connection((peer.host, peer.port), _PATIENCE_S) as connection:
                connection.sendall(struct.pack("!i", len(body) + 4) + body)
                connection.recv(1)
        return True


def nodes_of(number: int, peers: Sequence[str]) -> ServerNodes:
    """From ``--node`` and ``--peer``, each ``NUMBER=HOST:PORT``; raises SETTING_VALUE."""
    found: dict[int, Address] = {}
    for text in peers:
        node, sign, address = text.partition("=")
        if not sign or not node.isdigit() or int(node) >= NODES:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{text} names no server",
                advice="write its number and its address: --peer 2=10.0.0.2:5433",
            )
        if int(node) == number:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{text} has the number {number} of this server itself",
                advice="give each server a number of its own with --node",
            )
        found[int(node)] = parse_address(address, _PORT)
    return ServerNodes(number, found)
