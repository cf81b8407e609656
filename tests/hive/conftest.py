"""One Spark Thrift Server for the tests of this folder, and a store on it for each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.login import Server
from journal.stores.hive.thrift_connection import ThriftConnection
from tests.support import apache_hive
from tests.support.connections import opening
from tests.support.thrift_server import ThriftServer, shared


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    """The server; its tests are skipped, with the reason, where none can be had."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with shared(folder) as found:
        yield found


@pytest.fixture(scope="session")
def apache() -> Iterator[ThriftServer]:
    """Apache Hive's own server, where it was asked for; one for all tests that want it."""
    with apache_hive.running() as found:
        yield found


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
