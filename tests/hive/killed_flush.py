"""A process that flushes inlined rows and kills itself at a step of it; words: URL, step."""

from __future__ import annotations

import sys

import gateway
from journal.stores.hive import inlining
from journal.stores.hive.journal import HiveJournal
from tests.support.killed_job import die, dying_after


def main(url: str, step: str) -> None:
    """Run it."""
    with gateway.connect(url, autocommit=True) as con:
        journal = con.session.journal
        assert isinstance(journal, HiveJournal)
        match step:
            case "append":
                inlining.write_held = dying_after(inlining.write_held)
            case "list":
                # The catalog's transaction has changed rows and is never committed.
                inlining.record_states = dying_after(inlining.record_states)
            case "keep":
                journal.keep = dying_after(journal.keep)  # type: ignore[method-assign]
            case _:
                die()
        inlining.flush_all(journal)


if __name__ == "__main__":
    main(*sys.argv[1:])
