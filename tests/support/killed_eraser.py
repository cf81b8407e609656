"""A process that accepts and runs an erasure, and kills itself with SIGKILL at the step it is told.

python -m tests.support.killed_eraser WAREHOUSE STEP TIMES MAIL [DEPENDENTS]

It dies when it comes to STEP for the TIMES-th time: a cascade comes to most of them once for each
table. ``none`` lets it come to the end. It says ``accepted`` before it purges.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from typing import Any

import gateway
from gateway.erasers import eraser_of
from journal.dependents import Dependents
from journal.erasure import completion
from journal.erasure.wanted import Wanted
from spark_compaction import erasing
from spark_compaction.local import LocalEngine

BY_TABLE = ("stage", "staged", "swap", "swapped", "retired", "copies", "copied")
ONCE = ("accept", "receipts", "unmask", "scrub", "closing")


def _dying(function: Any, times: int, *, after: bool = False) -> Any:
    """A function that the process does not survive when it is called so often."""
    calls = count(1)

    def call(*given: Any, **options: Any) -> Any:
        last = next(calls) == times
        found = function(*given, **options) if after or not last else None
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return call


def _arrange(journal: Any, step: str, times: int) -> None:
    """See to it that the process dies at a step of the purge."""
    places: dict[str, tuple[Any, str]] = {
        "stage": (LocalEngine, "map"),
        "staged": (LocalEngine, "map"),
        "swap": (journal, "swap"),
        "swapped": (journal, "swap"),
        "retired": (erasing, "_purge_retired"),
        "copies": (erasing, "purge_copies"),
        "copied": (erasing, "purge_copies"),
        "receipts": (erasing, "purged"),
        "unmask": (journal, "swap_all"),
        "scrub": (completion, "copy_live"),
        "closing": (completion, "_closed"),
    }
    if step != "none":
        place, name = places[step]
        survived = step in {"staged", "swapped", "copied"}
        setattr(place, name, _dying(getattr(place, name), times, after=survived))


def main(root: str, step: str, times: str, mail: str, dependents: str = "REPORT") -> None:
    """Accept a request about an e-mail, purge it, and die on the way."""
    connection = gateway.connect(f"palimpsest:///{root}", autocommit=True)
    eraser = eraser_of(connection.session)
    journal: Any = eraser.journal
    if step == "accept":
        journal.swap_all = _dying(journal.swap_all, 1)
    eraser.accept(Wanted({"email": [mail]}, dependents=Dependents(dependents)), "tester")
    sys.stdout.write("accepted\n")
    sys.stdout.flush()
    _arrange(journal, step, int(times))
    erasing.erase(journal, LocalEngine(), "tester")


if __name__ == "__main__":
    main(*sys.argv[1:])
