"""The servers of a test session: of PostgreSQL and of commands a worker, one of Hive for all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import apache_hive, postgres, thrift_server, warm_commands
from tests.support.clean_environment import clean_environment
from tests.support.postgres import Cluster
from tests.support.thrift_server import ThriftServer


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The PostgreSQL server; its tests are skipped, with the reason, where none can be had."""
    with postgres.running() as found:
        yield found


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    """The Thrift Server; its tests are skipped, with the reason, where none can be had."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with thrift_server.shared(folder) as found:
        yield found


@pytest.fixture(scope="session")
def apache() -> Iterator[ThriftServer]:
    """Apache Hive's own server, where it was asked for; one for all tests that want it."""
    with apache_hive.running() as found:
        yield found


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of ``palimpsest`` and ``python``, each process of which is forked when needed."""
    environment = clean_environment(tmp_path_factory.mktemp("home"))
    with warm_commands.running(environment) as folder:
        yield folder
