"""kill -9 at a step of the product: in the program of a child, and the child seen from its test.

PROGRAM = "... die_at(place, name, after) ..."
run_killed(PROGRAM, url, "gateway.jobs.replicate", "_finished_row", "0")
"""

from __future__ import annotations

import functools
import os
import pkgutil
import signal
import subprocess
from typing import Any

from tests.architecture.sources import ROOT
from tests.support.warm_python import warm_python

Step = tuple[str, str, int]
"""A module or class, its function that is the step, and 1 for a kill behind it, 0 before it."""


def die_at(place: str, name: str, after: str) -> None:
    """Have this process kill itself at the first call of a step; words as those of a ``Step``.

    Without a ``name``, or with ``__call__``, the last word of ``place`` is what is called.
    """
    if name in {"", "__call__"}:
        place, _, name = place.rpartition(".")
    *within, name = name.split(".")
    owner = pkgutil.resolve_name(".".join([place, *within]))
    step = getattr(owner, name)

    @functools.wraps(step)
    def killed(*given: Any, **named: Any) -> None:
        if after == "1":
            step(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killed)


def run_killed(program: str, *words: str) -> None:
    """Run a program of Python with its words; raises AssertionError unless it is killed."""
    done = subprocess.run(
        [warm_python(), "-c", program, *words], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
