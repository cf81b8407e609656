"""Starts a new owner process for clients whose owner has ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from journal.model.errors import Code, PalimpsestError

_PROGRAM = "gateway.opening.detached"


def start(root: Path) -> None:
    """Start an owner for a folder; returns when it, or somebody else, has the folder or failed.

    Raises what kept it from opening the warehouse.
    """
    read, write = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", _PROGRAM, str(root), str(write)],
            pass_fds=[write],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,
        )
    finally:
        os.close(write)
    with os.fdopen(read, encoding="utf-8") as told:
        said = told.read()
    if said:
        process.wait()
        code, _, message = said.partition(" ")
        raise PalimpsestError(Code[code], message, advice="see the message; then connect again")
    # Whoever reads the exit code of a process keeps no zombie; it outlives this one mostly.
    threading.Thread(target=process.wait, daemon=True).start()
