"""tokio-postgres, the driver of Rust: types, a transaction, COPY in binary both ways."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.conftest import Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rust") / "client"
    shutil.copytree(Path(__file__).with_name("rust"), folder)
    built = subprocess.run(
        ["cargo", "build", "-q"], cwd=folder, capture_output=True, text=True, timeout=280
    )
    if built.returncode != 0 and "download" in built.stderr:
        pytest.skip(f"the driver cannot be had: {built.stderr[-200:]}")
    assert built.returncode == 0, built.stderr
    return folder / "target" / "debug" / "palimpsest-client"


def test_what_a_program_in_rust_does(server: Server, program: Path) -> None:
    done = subprocess.run(
        [str(program), server.dsn], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == [
        "inserted 1",
        "copied in 999",
        "copied out 1000 sum 499500000000007 missing 99",
        "count 1000",
        "streamed 50",
        "error 42P01",
    ], done.stderr
