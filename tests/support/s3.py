"""An S3-speaking server for tests: who may use it, and what lies there."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
import s3fs

from tests.support.relay import Relay


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
