"""Random, cut and endless requests on the HTTP ports: nobody else waits, and nothing is left."""

from __future__ import annotations

import random
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.conftest import Server, launch

_REQUESTS = {
    "http": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n",
    "control": b"PUT /entities/dataset/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 12\r\n"
    b"Content-Type: application/json\r\nConnection: close\r\n\r\n{\"name\": 1}\r",
}  # fmt: skip
_HOSTILE = (
    b"\0" * 5000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n",
    b"GET /" + b"%2e%2e/" * 2000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\r\n" * 2000,
)
_ROUNDS, _SLOW = 60, 20


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, int]]]:
    """A server with both ports, and their numbers."""
    options = ("--http", "127.0.0.1:0", "--control", "127.0.0.1:0", "--login-timeout", "3")
    server = launch(tmp_path_factory.mktemp("hostile"), *options)
    assert server.process.stdout is not None
    found: dict[str, int] = {}
    for name in ("control", "http"):
        line = server.process.stdout.readline()
        port = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert port is not None, line
        found[name] = int(port[1])
    yield server, found
    server.end()


def _send(port: int, data: bytes) -> None:
    """Send bytes, take what comes, and go."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        try:
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65_536):
                pass
        except OSError:
            return  # The server closes first where it has seen enough.


def _is_alive(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
        return bool(answer.status == 200)


def _held(server: Server) -> int:
    place = Path(f"/proc/{server.pid}")
    return len(list((place / "task").iterdir())) + len(list((place / "fd").iterdir()))


@pytest.mark.parametrize("name", ["http", "control"])
def test_what_is_no_request_ends_nothing(ports: tuple[Server, dict[str, int]], name: str) -> None:
    server, numbers = ports
    chance = random.Random(18)
    whole = _REQUESTS[name]
    _send(numbers[name], whole)
    before = _held(server)
    for data in _HOSTILE:
        _send(numbers[name], data)
    for _ in range(_ROUNDS):
        cut = whole[: chance.randrange(len(whole) + 1)]
        _send(
            numbers[name], bytes(chance.randrange(256) if chance.random() < 0.1 else b for b in cut)
        )
    assert _is_alive(numbers["http"])
    end = time.monotonic() + 20
    while _held(server) > before and time.monotonic() < end:
        time.sleep(0.2)
    assert _held(server) <= before
    assert server.process.poll() is None


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["http", "control"])
def test_slow_clients_hold_up_nobody(ports: tuple[Server, dict[str, int]], name: str) -> None:
    _, numbers = ports
    slow = [socket.create_connection(("127.0.0.1", numbers[name])) for _ in range(_SLOW)]
    try:
        for client in slow:
            client.sendall(_REQUESTS[name][:9])
        start = time.monotonic()
        assert _is_alive(numbers["http"])
        _send(numbers[name], _REQUESTS[name])
        assert time.monotonic() - start < 10
    finally:
        for client in slow:
            client.close()
