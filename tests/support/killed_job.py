"""A process that runs a job and kills itself at a step of it; words: root or URL, job, step."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from typing import Any

import gateway
from gateway.jobs import kinds
from gateway.jobs.runs import Request, run_all
from spark_compaction.programs import retention

NOW = datetime(2024, 4, 1, tzinfo=UTC)


def die(*_: Any, **__: Any) -> Any:
    """Go as a power cut would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(function: Any) -> Any:
    """A function that is the last thing the process does."""

    def call(*args: Any, **kwargs: Any) -> Any:
        function(*args, **kwargs)
        die()

    return call


def _dying_to_write(begin: Any) -> Any:
    """A beginner of transactions that gives those that read alone."""

    def call(**options: Any) -> Any:
        return begin(**options) if options.get("read_only") else die()

    return call


def arrange(journal: Any, step: str) -> None:
    """See to it that the process dies at a step."""
    job = retention.Retention
    match step:
        case "plan" | "stage" | "verify" | "check":
            setattr(job, step, dying_after(getattr(job, step)))
        case "swap":
            journal.swap = dying_after(journal.swap)
        case "reap":
            journal.paths_in_use = die
        case "begin":
            journal.begin = _dying_to_write(journal.begin)
        case "before commit":
            journal.commit = lambda *_: die()
        case "commit":
            journal.commit = dying_after(journal.commit)
        case "before conclude":
            journal.conclude = lambda *_: die()
        case "conclude":
            journal.conclude = dying_after(journal.conclude)
        case "before follow" | "follow":
            from spark_compaction.erasure import purge_sql

            follow = purge_sql.follow_backups if step == "follow" else lambda *_: None
            purge_sql.follow_backups = dying_after(follow)
        case _:
            raise AssertionError(step)


def main(root: str, kind: str, step: str) -> None:
    """Run the job on the only table."""
    url = root if "://" in root else f"palimpsest:///{root}"
    connection = gateway.connect(url, autocommit=True)
    session = connection.session
    kinds.find_kind(kind)
    arrange(session.journal, step)
    run_all(session, Request(kind, now=NOW), list(session.journal.state.catalog.tables()))


if __name__ == "__main__":
    main(*sys.argv[1:])
