"""A server that speaks Google Cloud Storage, for tests: it keeps everything in memory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.away import Away
from tests.support.tied import end_with

_HOST = "127.0.0.1"


@contextmanager
def emulator() -> Iterator[str]:
    """Its address; the test is skipped, with the reason, where it is not installed."""
    why = "pip install gcsfs gcp-storage-emulator"
    pytest.importorskip("gcsfs", reason=why)
    pytest.importorskip("gcp_storage_emulator", reason=why)
    with socket.create_server((_HOST, 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gcp_storage_emulator", "start"]
    command += [f"--host={_HOST}", f"--port={port}", "--in-memory"]
    silent = subprocess.DEVNULL
    started = subprocess.Popen(command, stdout=silent, stderr=silent)
    end_with(os.getpid(), started.pid, "KILL")
    try:
        _wait_for(port)
        yield f"http://{_HOST}:{port}"
    finally:
        started.kill()
        started.wait()


def new_bucket(address: str) -> Away:
    """A bucket that nobody used yet."""
    bucket = f"b{uuid.uuid4().hex[:12]}"
    _ask(f"{address}/storage/v1/b?project=test", json.dumps({"name": bucket}).encode())
    listing = f"{address}/storage/v1/b/{bucket}/o"

    def names() -> list[str]:
        found = json.loads(_ask(listing))
        return sorted(item["name"] for item in found.get("items", []))

    def fetch(folder: Path) -> Path:
        for name in names():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_ask(f"{listing}/{urllib.parse.quote(name, safe='')}?alt=media"))
        return folder

    return Away(f"gs://{bucket}", names, fetch)


def _ask(url: str, body: bytes | None = None) -> bytes:
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, kind)  # noqa: S310 - a server of ours
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the same
        data: bytes = answer.read()
    return data


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection((_HOST, port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")
