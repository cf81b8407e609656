"""The servers of this test session, and a bucket of each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.elsewhere.clean import TOKEN
from tests.support.client import Client
from tests.support.hdfs import Hdfs, hdfs
from tests.support.s3 import Server, let_in, running
from tests.support.spark import spark
from tests.support.warehouse import connect, run

__all__ = ["connect", "run", "spark"]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """moto's server, which checks keys as S3 does."""
    with running() as found:
        yield found


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """A name node and a data node."""
    with hdfs(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket, and the environment that leads to it."""
    let_in(server, monkeypatch)
    name = f"b{uuid.uuid4().hex[:12]}"
    server.client().create_bucket(Bucket=name)
    return name


@pytest.fixture
def people(run: Client) -> Client:
    """Two segments, so that a copy has two files at least."""
    run("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')")
    run(f"INSERT INTO people VALUES (1, '{TOKEN}'), (2, 'bob@x.example'), (3, NULL)")
    run("CALL system.flush('people')")
    run("UPDATE people SET email = 'new@x.example' WHERE id = 1")
    run("CALL system.flush('people')")
    return run
