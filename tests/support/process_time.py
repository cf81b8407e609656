"""Waiting until another process has worked, whatever else the machine does."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LIMIT_S = 60.0


def await_work(pid: int, seconds: float) -> None:
    """Return once the threads of a process have used so many seconds of processors from now on."""
    until = _used_s(pid) + seconds
    deadline = time.monotonic() + _LIMIT_S
    while _used_s(pid) < until:
        assert time.monotonic() < deadline, f"process {pid} does not work"
        time.sleep(0.05)


def _used_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
