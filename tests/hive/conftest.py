"""One Spark Thrift Server for the tests of this folder, and a store on it for each test."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.thrift_server import ThriftServer, shared


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    """The server; its tests are skipped, with the reason, where none can be had."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with shared(folder) as found:
        yield found


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    """The gateway's URL of a new, empty store, without the views that others read."""
    return server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db", views="off")


@pytest.fixture
def connect(url: str) -> Iterator[Callable[..., Connection]]:
    """Opens connections to the store, in autocommit; closes those that are left open."""
    opened: list[Connection] = []

    def open_connection(**options: Any) -> Connection:
        opened.append(gateway.connect(url, **{"autocommit": True, **options}))
        return opened[-1]

    yield open_connection
    for connection in opened:
        connection.close()


@pytest.fixture
def con(connect: Callable[..., Connection]) -> Connection:
    """One connection."""
    return connect()
