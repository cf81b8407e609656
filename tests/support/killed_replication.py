"""A process that replicates a table, and is killed before or after a step of it."""

from __future__ import annotations

import signal
import subprocess

from tests.architecture.sources import ROOT
from tests.support.warm_python import warm_python

Step = tuple[str, str, int]
"""A module or class, its function that is the step, and 1 for a kill behind it, 0 before it."""
BOTH_ENDS: dict[str, Step] = {
    "before the records": ("spark_compaction.programs.replica_records", "carry_suppressions", 0),
    "after the holds": ("spark_compaction.programs.replica_records", "carry_holds", 1),
    "before the source records it": ("gateway.jobs.replicate", "_finished_row", 0),
    "after the source recorded it": ("gateway.jobs.replicate", "_complete_erasures", 0),
}
_PROGRAM = """
import os, pkgutil, signal, sys
import gateway
from tests.support.replicated import replicated

source, target, place, name, after = sys.argv[1:]
owner = pkgutil.resolve_name(place)
step = getattr(owner, name)

def killed(*given, **named):
    if after == "1":
        step(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

with gateway.connect(source, autocommit=True) as connection:
    setattr(owner, name, killed)
    replicated(connection, target)
"""


def die_at(source: str, target: str, step: Step) -> None:
    """Replicate ``hr.people`` between the stores of two URLs in a process that dies at a step."""
    place, name, behind = step
    done = subprocess.run(
        [warm_python(), "-c", _PROGRAM, source, target, place, name, str(behind)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
