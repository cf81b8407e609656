"""An S3-speaking server for tests: who may use it, and what lies there."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
import s3fs

from tests.support.relay import Relay
from tests.support.tied import end_with

_POLICY = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens, and a key that it accepts."""

    host: str
    port: int
    key: str
    secret: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}:{self.port}"

    def client(self) -> Any:
        """A client of S3 that is not ours."""
        return client_of("s3", self.url, self.key, self.secret)


class Cutting(Relay):
    """A relay that cuts once, and lets nobody in again."""

    def taken(self) -> list[tuple[socket.socket, socket.socket]]:
        """The connections that will be cut now; those that come later are refused."""
        self.refuses = True
        return super().taken()


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """moto's server for a while; it checks keys as S3 does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end_with(os.getpid(), started.pid, "KILL")
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


def let_in(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    *,
    url: str | None = None,
    key: str | None = None,
) -> None:
    """The environment of somebody with a key, which may be a wrong one."""
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", url or server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key or server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


def objects(server: Server, bucket: str) -> list[str]:
    """The names of all objects in a bucket."""
    found = server.client().list_objects_v2(Bucket=bucket)
    return [entry["Key"] for entry in found.get("Contents", [])]


def client_of(service: str, url: str, key: str, secret: str) -> Any:
    """A client of a service of AWS."""
    return boto3.client(
        service,
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name="us-east-1",
    )


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            _ask(port, "GET", "/moto-api/data.json")
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


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
