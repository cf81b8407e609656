"""Each benchmark finds what it imports, though most of them run by hand alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PEERS = {"peer_worker": "imports the table formats that the gateway is measured beside"}


def test_every_benchmark_can_be_imported(root: Path) -> None:
    found = sorted(path.stem for path in (root / "bench").glob("*.py"))
    names = [f"bench.{name}" for name in found if name not in {*PEERS, "__init__", "__main__"}]
    program = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", program, *names], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
