"""A store on the session's Spark Thrift Server for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.thrift_connection import ThriftConnection
from tests.support.connections import opening
from tests.support.thrift_server import ThriftServer


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    """The gateway's URL of a new, empty store, without the views that others read."""
    return server.new_store(tmp_path)


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Opens connections to the store, in autocommit; closes those that are left open."""
    with opening(url, autocommit=True) as open_connection:
        yield open_connection


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """One connection."""
    return connect()


@pytest.fixture
def connection(server: ThriftServer) -> Iterator[ThriftConnection]:
    """A session of the server."""
    found = ThriftConnection(
        Server(server.host, server.port, "tester", "default", "NOSASL", connect_timeout_s=120)
    )
    yield found
    found.close()
