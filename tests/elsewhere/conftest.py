"""The servers of this test session, and a bucket of each test."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.elsewhere.clean import TOKEN
from tests.support.client import Client
from tests.support.hdfs import Hdfs, hdfs
from tests.support.s3 import Server, client_of, let_in
from tests.support.spark import spark
from tests.support.warehouse import connect, run

__all__ = ["connect", "run"]

__all__ = ["spark"]

_POLICY = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """moto's server, which checks keys as S3 does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        people = client_of("iam", url, "anybody", "anything")
        people.create_user(UserName="palimpsest")
        people.put_user_policy(UserName="palimpsest", PolicyName="p", PolicyDocument=_POLICY)
        made = people.create_access_key(UserName="palimpsest")["AccessKey"]
        # From now on nobody is let in without a key.
        headers = {"Content-Type": "text/plain"}
        _ask(port, "POST", "/moto-api/reset-auth", b"0", headers)
        yield Server("127.0.0.1", port, made["AccessKeyId"], made["SecretAccessKey"])
        people.close()
    finally:
        started.kill()
        started.wait()


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            _ask(port, "GET", "/moto-api/data.json")
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


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


def _ask(
    port: int, verb: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> None:
    """A request to the server itself, not to the services it plays."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(verb, path, body, headers or {})
        assert connection.getresponse().status == 200
    finally:
        connection.close()
