"""A server that speaks Azure's blobs, for tests: Azurite, which keeps everything in memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.away import Away
from tests.support.tied import end_with

_HOST = "127.0.0.1"
_START_S = 60.0
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the account that Azurite has for everybody; it is no secret."""


@contextmanager
def azurite() -> Iterator[str]:
    """Its connection string; the test is skipped, with the reason, where it is not installed."""
    command = os.environ.get("PALIMPSEST_AZURITE") or shutil.which("azurite-blob")
    why = "pip install adlfs, npm install -g azurite (or PALIMPSEST_AZURITE=..azurite-blob)"
    pytest.importorskip("adlfs", reason=why)
    if command is None:
        pytest.skip(why)
    with socket.create_server((_HOST, 0)) as free:
        port = free.getsockname()[1]
    told = [command, f"--blobHost={_HOST}", f"--blobPort={port}", "--inMemoryPersistence"]
    silent = subprocess.DEVNULL
    started = subprocess.Popen([*told, "--skipApiVersionCheck"], stdout=silent, stderr=silent)
    end_with(os.getpid(), started.pid, "KILL")
    try:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection((_HOST, port), 1):
                break
            time.sleep(0.1)
        endpoint = f"http://{_HOST}:{port}/devstoreaccount1"
        yield (
            "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
            f"AccountKey={_KEY};BlobEndpoint={endpoint};"
        )
    finally:
        started.kill()
        started.wait()


def new_container(connection: str) -> Away:
    """A container that nobody used yet."""
    from azure.storage.blob import BlobServiceClient

    name = f"c{uuid.uuid4().hex[:12]}"
    container = BlobServiceClient.from_connection_string(connection).create_container(name)

    def names() -> list[str]:
        return sorted(container.list_blob_names())

    def fetch(folder: Path) -> Path:
        for one in names():
            path = folder / one
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(container.download_blob(one).readall())
        return folder

    return Away(f"az://{name}", names, fetch)
