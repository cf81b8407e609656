"""kill -9 of a process that takes rows in: its temporary files go with the next start.

Rows of people may be in them who are erased before anybody looks: no erasure searches there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.client import Client

_TAKES_ROWS_IN = """
import os, signal, sys, gateway
with gateway.connect(f"palimpsest:///{sys.argv[1]}") as con, con.cursor() as cursor:
    with cursor.copy("COPY t FROM STDIN") as copy:
        copy.write("1\\tada@x.example\\n" * 100_000)
        os.kill(os.getpid(), signal.SIGKILL)
"""
_ROWS = b"1,ada@x.example\n" * 100_000
_PATIENCE_S = 60


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this process and of those that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def _made(root: Path) -> None:
    run = Client(root)
    run("CREATE TABLE t (k INTEGER, mail VARCHAR)")
    run.close()


def _holders(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and b"ada@" in p.read_bytes()]


def _opens_again(root: Path, folder: Path) -> None:
    """The rows lie in ``folder`` now; opening the warehouse removes them, and it has none."""
    assert _holders(folder)
    run = Client(root)
    assert _holders(folder) == []
    assert run("SELECT count(*) FROM t") == [(0,)]
    run.close()


def test_rows_of_a_killed_copy_go(tmp_path: Path, temporary: Path, root: Path) -> None:
    _made(tmp_path / "w")
    words = [sys.executable, "-c", _TAKES_ROWS_IN, str(tmp_path / "w")]
    done = subprocess.run(words, cwd=root, timeout=120)
    assert done.returncode == -signal.SIGKILL
    _opens_again(tmp_path / "w", temporary)


def test_rows_of_a_killed_import_go(tmp_path: Path, temporary: Path) -> None:
    _made(tmp_path / "w")
    # The command itself: of a warm one the process that holds the folder ends a little later.
    palimpsest = Path(sys.executable).parent / "palimpsest"
    words = [palimpsest, "import", "-", "t", "-w", tmp_path / "w"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, env=os.environ)
    assert child.stdin is not None
    child.stdin.write(_ROWS)
    deadline = time.monotonic() + _PATIENCE_S
    while not _holders(temporary):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    child.stdin.close()
    _opens_again(tmp_path / "w", temporary)
