"""Servers that end when the tests that need them do, however these end."""

from __future__ import annotations

import os
import subprocess

_WATCH = """
while kill -0 "$1" && kill -0 "$2"; do sleep 1; done
kill -0 "$1" || kill -s "$3" -- "$4"
"""


def run_of_tests() -> int:
    """The process that all workers of this test run are children of."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def end_with(owner: int, server: int, signal: str, *, whole_group: bool = False) -> None:
    """Send a signal to a server, or its process group, once its owner is gone.

    Fixtures do so at the end of a run, but not of one that was killed, or ended with SIGTERM.
    """
    told = [str(owner), str(server), signal, f"-{server}" if whole_group else str(server)]
    # The shell leaves the watching part behind: nobody has to wait for it.
    subprocess.run(
        ["sh", "-c", f"{{ {_WATCH} }} &", "sh", *told],
        check=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
