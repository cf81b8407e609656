"""The environment of a shell in which nobody has set anything up but this program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_KEPT_FROM_OUTSIDE = ("PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "TMPDIR", "JAVA_HOME")


def clean_environment(home: Path) -> dict[str, str]:
    """What a newcomer's shell has, and our own programs in PATH."""
    binaries = str(Path(sys.executable).parent)
    kept = {name: os.environ[name] for name in _KEPT_FROM_OUTSIDE if name in os.environ}
    return {
        **kept,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "TERM": "dumb",
    }
