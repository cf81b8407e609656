"""Other systems, installed by the benchmark into a private environment and driven through a pipe.

Each runs in a process of its own with its own DuckDB, so it shares nothing with the gateway; it
times itself, so that the pipe costs nothing. Without a package index there are simply no peers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# DuckLake's extension on PyPI is built for exactly one DuckDB, which need not be ours.
PACKAGES = (
    "duckdb==1.5.5",
    "duckdb-extension-ducklake==1.5.5",
    "deltalake==1.6.6",
    "pyiceberg[sql-sqlite,pyarrow]==0.12.0",
)
_WORKER = Path(__file__).with_name("peer_worker.py")


class PeerError(Exception):
    """A peer could not do what it was asked."""


class Peer:
    """A peer process; ``call`` runs one of the functions of ``peer_worker.py``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, function: str, **arguments: Any) -> Any:
        """The function's result; the functions that measure return seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"call": function, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the peer ended during {function}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{function}: {answer['error']}")
        return answer["result"]


def install(work: Path) -> Path | None:
    """The Python of the peers' environment; None when it cannot be made."""
    folder = work / "peers"
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.exists() and ready.read_text() == "\n".join(PACKAGES):
        return python
    venv.create(folder, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    if found.returncode:
        print(f"no peers: {found.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    ready.write_text("\n".join(PACKAGES))
    return python


@contextmanager
def peer(work: Path, wanted: bool = True) -> Iterator[Peer | None]:
    """A running peer process, or None."""
    python = install(work) if wanted else None
    if python is None:
        yield None
        return
    process = subprocess.Popen(
        [str(python), str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Peer(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
