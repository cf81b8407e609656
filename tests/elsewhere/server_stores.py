"""Stores whose rows a server reads, one of each kind for a test: PostgreSQL, Spark behind Hive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from tests.support import kept
from tests.support.connections import opening
from tests.support.postgres import running
from tests.support.thrift_server import shared

Connect = Callable[..., Connection]


@pytest.fixture(scope="session")
def new_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Path], str]]:
    """Gives the URL of a new store of the kind that is asked for."""
    if request.param == "postgresql":
        with running() as cluster:
            yield lambda _folder: cluster.url(cluster.database())
        return
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with shared(folder) as server:
        yield server.new_store


STORES = pytest.mark.parametrize("new_store", ["postgresql", "hive"], indirect=True)
LONG_ON_HIVE = pytest.mark.parametrize(
    "new_store", ["postgresql", pytest.param("hive", marks=pytest.mark.slow)], indirect=True
)
ARCHIVES = pytest.mark.parametrize(
    ("new_store", "kind"),
    [
        *(("postgresql", kind) for kind in ("here", "s3", "path")),
        *(pytest.param("hive", kind, marks=pytest.mark.slow) for kind in ("here", "s3", "path")),
    ],
    indirect=["new_store"],
)


@pytest.fixture
def url(new_store: Callable[[Path], str], tmp_path: Path) -> str:
    """The URL of a store of the test's own."""
    return new_store(tmp_path)


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """Opens connections to it."""
    with opening(url, autocommit=True) as open_connection:
        yield open_connection


@pytest.fixture
def table(connect: Connect) -> Connection:
    """A table in a base, in history, in two layouts and in what came last."""
    con = connect()
    kept.make(con)
    return con
