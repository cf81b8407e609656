"""A process that accepts and runs an erasure, and kills itself with SIGKILL at the step it is told.

python -m tests.support.killed_eraser STORE STEP TIMES MAIL [DEPENDENTS]

STORE is the directory of a warehouse, or the URL of a database. It dies when it comes to STEP for
the TIMES-th time: a cascade comes to most of them once for each table. ``none`` lets it come to the
end. It says ``accepted`` before it purges.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import nullcontext
from itertools import count
from typing import Any

import gateway
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec
from journal.model.dependents import Dependents
from journal.stores.embedded.journal import Journal
from spark_compaction.backends.embedded_erasure import completion, erasing
from spark_compaction.contract import silent
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure import purging

BY_TABLE = ("stage", "staged", "swap", "swapped", "retired", "copies", "copied")
ONCE = ("accept", "receipts", "unmask", "scrub", "closing")
BY_TABLE_OF_DATABASE = (
    *("stage", "staged", "swap", "swapped", "recorded"),
    *("copies", "copied", "reap", "reaped"),
)
ONCE_IN_DATABASE = ("accept", "accepted", "receipts", "closing")
_AFTER = frozenset({"accepted", "staged", "swapped", "recorded", "copied", "reaped"})


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


def _in_warehouse(journal: Any) -> dict[str, tuple[Any, str]]:
    """What a purge calls at its steps."""
    return {
        "accept": (journal, "swap_all"),
        "stage": (LocalEngine, "map"),
        "staged": (LocalEngine, "map"),
        "swap": (journal, "swap"),
        "swapped": (journal, "swap"),
        "retired": (erasing, "_purge_retired"),
        "copies": (purging, "purge_copies"),
        "copied": (purging, "purge_copies"),
        "receipts": (purging, "record_purged"),
        "unmask": (journal, "swap_all"),
        "scrub": (completion, "copy_live"),
        "closing": (purging, "record_completed"),
    }


def _in_database(journal: Any) -> dict[str, tuple[Any, str]]:
    """The same in a database."""
    from spark_compaction.backends.postgres import segment_swap
    from spark_compaction.erasure import purge_sql

    return {
        "accept": (journal, "conclude"),
        "accepted": (journal, "conclude"),
        "stage": (purge_sql.PurgeInSql, "stage"),
        "staged": (purge_sql.PurgeInSql, "stage"),
        "swap": (segment_swap, "swap"),
        "swapped": (segment_swap, "swap"),
        "recorded": (purge_sql, "follow_backups"),
        "copies": (purging, "purge_copies"),
        "copied": (purging, "purge_copies"),
        "receipts": (purging, "record_purged"),
        "reap": (segment_swap, "reap"),
        "reaped": (segment_swap, "reap"),
        "closing": (purging, "record_completed"),
    }


def _arrange(journal: Any, step: str, times: int) -> None:
    """See to it that the process dies at a step."""
    places = (_in_warehouse if isinstance(journal, Journal) else _in_database)(journal)
    place, name = places[step]
    setattr(place, name, _dying(getattr(place, name), times, after=step in _AFTER))


def main(store: str, step: str, times: str, mail: str, dependents: str = "REPORT") -> None:
    """Accept a request about an e-mail, purge it, and die on the way."""
    url = store if "://" in store else f"palimpsest:///{store}"
    connection = gateway.connect(url, autocommit=True)
    erasure = erasure_of(connection.session)
    if step in {"accept", "accepted"}:
        _arrange(erasure.journal, step, 1)
    erasure.accept(ErasureSpec({"email": [mail]}, dependents=Dependents(dependents)), "tester")
    sys.stdout.write("accepted\n")
    sys.stdout.flush()
    if step != "none":
        _arrange(erasure.journal, step, int(times))
    erasure.purge(lambda: nullcontext(LocalEngine()), "tester", None, silent)


if __name__ == "__main__":
    main(*sys.argv[1:])
