"""pgx, the driver of Go, and node-postgres: types, batches, COPY, transactions, errors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.conftest import Server

pytestmark = pytest.mark.slow


def _run(words: list[str], folder: Path, seconds: float = 280) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
    )


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_what_a_program_in_go_does(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "client"
    shutil.copytree(Path(__file__).with_name("go"), folder)
    got = _run(["go", "mod", "tidy"], folder)
    if got.returncode != 0:
        pytest.skip(f"the driver cannot be had: {got.stderr[-200:]}")
    built = _run(["go", "build", "-o", "client"], folder)
    assert built.returncode == 0, built.stderr
    done = _run([str(folder / "client"), server.dsn], folder, 60)
    assert done.stdout.splitlines() == [
        "inserted 1",
        "copied 999",
        "zero [a b]",
        "sum 5",
        "count 1000",
        "error true 42P01",
    ], done.stderr


@pytest.mark.skipif(shutil.which("npm") is None, reason="Node is not installed")
def test_what_a_program_of_node_does(server: Server, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("node") / "client.js", tmp_path)
    got = _run(["npm", "install", "--no-audit", "--no-fund", "pg@8"], tmp_path)
    if got.returncode != 0:
        pytest.skip(f"the driver cannot be had: {got.stderr[-200:]}")
    url = f"postgresql://me@127.0.0.1:{server.port}/palimpsest"
    done = _run(["node", "client.js", url], tmp_path, 60)
    row = '[{"name":"Ada","data":{"a":[1]},"tags":["x","y"],"day":"2020-02-29"}]'
    assert done.stdout.splitlines() == [
        "inserted 1",
        row,
        row,
        "error 42P01 15",
        "counts 1 1 1",
    ], done.stderr
