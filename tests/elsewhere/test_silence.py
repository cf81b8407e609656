"""File systems that take a request and never answer: a limit ends it, in words of ours."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
import s3fs

from journal.files.object_storage import Folder
from journal.files.tcp_keepalive import SILENCE_S
from journal.model.errors import PalimpsestError

Configured = dict[str, dict[str, object]]


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes whoever comes, and says nothing."""
    taken = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            while True:
                try:
                    taken.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    for one in taken:
        one.close()


def _asked(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    for ask in (
        lambda: folder.read("f"),
        lambda: folder.size("f"),
        folder.names,
        lambda: folder.fetch("f", tmp_path / "g"),
        lambda: folder.put(tmp_path / "f", "g"),
        lambda: folder.remove("f"),
    ):
        with pytest.raises(PalimpsestError, match="cannot be reached") as raised:
            ask()
        assert raised.value.code.value.code == "PAL-507"


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Configured:
    """fsspec's configuration, put back afterwards."""
    for scheme in ("webhdfs", "s3", "gs"):
        monkeypatch.setitem(fsspec.config.conf, scheme, {})
    return fsspec.config.conf


def test_webhdfs(silent: int, tmp_path: Path, configured: Configured) -> None:
    configured["webhdfs"]["timeout"] = "0.2"
    _asked(Folder(f"webhdfs://127.0.0.1:{silent}/x"), tmp_path)
    configured["webhdfs"]["timeout"] = "soon"
    with pytest.raises(PalimpsestError, match="PAL-222"):
        Folder(f"webhdfs://127.0.0.1:{silent}/x")


def test_s3(
    silent: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    configured: Configured,
) -> None:
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent}"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_MAX_ATTEMPTS", "1"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    configured["s3"]["config_kwargs"] = {"read_timeout": 0.2}
    s3fs.S3FileSystem.clear_instance_cache()
    _asked(Folder("s3://bucket/x"), tmp_path)
    s3fs.S3FileSystem.clear_instance_cache()


def test_google(monkeypatch: pytest.MonkeyPatch, configured: Configured) -> None:
    """It tries again for a minute, so that only the limit is looked at."""
    gcsfs = pytest.importorskip("gcsfs")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    gcsfs.GCSFileSystem.clear_instance_cache()
    assert Folder("gs://bucket/x")._files.requests_timeout.sock_read == SILENCE_S
    configured["gs"]["requests_timeout"] = "7"
    assert Folder("gs://bucket/x")._files.requests_timeout.sock_read == 7.0
    gcsfs.GCSFileSystem.clear_instance_cache()
