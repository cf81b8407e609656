"""A Python for programs of tests: it has loaded the gateway already, which costs over a second.

    subprocess.run([warm_python(), "-c", PROGRAM, *arguments])
    subprocess.run([warm_python(), "-m", "tests.support.killed_job", *arguments])

Environment, folder, standard files, output and exit code, a signal that ended it included, are as
of ``sys.executable``. What differs: the process that works is not the child but one beside it, see
``warm_commands``. SIGINT and SIGTERM reach it and it goes when the child is killed; whoever stops
it, or compares its number, asks it for ``os.getpid()``. Limits, umask and groups of the child are
not its own.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from tests.support import warm_commands

_RUNNING = ExitStack()
_FOLDERS: list[Path] = []


def warm_python() -> str:
    """The program to run instead of ``sys.executable``; the first use in a process starts it."""
    if not _FOLDERS:
        _FOLDERS.append(_RUNNING.enter_context(warm_commands.running(dict(os.environ))))
    return str(_FOLDERS[0] / "warm-python")


def stop() -> None:
    """End what ``warm_python`` has started."""
    _FOLDERS.clear()
    _RUNNING.close()
