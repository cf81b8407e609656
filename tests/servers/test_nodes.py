"""Which server a cancel request is for, where several serve one store."""

from __future__ import annotations

import pytest

from gateway.servers.addresses import Address
from gateway.servers.pgwire.nodes import ServerNodes, nodes_of
from gateway.servers.pgwire.startup import CancelRequest
from journal.model.errors import PalimpsestError


def test_numbers_of_sessions_have_the_node_in_them() -> None:
    alone, second = nodes_of(0, ()), nodes_of(2, ("0=db0", "1=[::1]:6000"))
    assert alone.process_id(5_000_000) == 5_000_000
    assert second.process_id(7) >> 20 == 2
    assert second.process_id(2_000_000_000) < 1 << 31
    assert second.peers == {0: Address("db0", 5433), 1: Address("::1", 6000)}


def test_a_request_is_passed_on_once_and_only_to_servers_that_are_known() -> None:
    nodes = ServerNodes(2, {1: Address("127.0.0.1", 1)})
    of_first, of_third = 1 << 20 | 7, 3 << 20 | 7
    assert nodes.forward(CancelRequest(of_first, b"1234"))  # Nobody listens; no error comes of it.
    assert not nodes.forward(CancelRequest(of_third, b"1234"))
    assert not nodes.forward(CancelRequest(of_first, b"1234", is_forwarded=True))


@pytest.mark.parametrize("peer", ["db1", "x=db1", "9999=db1", "2=db1", "1=db1:port"])
def test_what_names_no_other_server_is_refused(peer: str) -> None:
    with pytest.raises(PalimpsestError, match=r"server|address"):
        nodes_of(2, (peer,))
