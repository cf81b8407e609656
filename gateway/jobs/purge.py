"""The kind ``purge``: what was erased goes from every file of its tables, and requests complete.

One run serves every accepted request that touches the table; a request is purged in all its tables,
or in none. What a legal hold keeps back waits for its release.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gateway.jobs.context import JobContext, JobKind
from journal.jobs.contract import JobReport, Volume

if TYPE_CHECKING:
    from journal.erasure.requests import Request


def _run(context: JobContext) -> JobReport:
    from gateway.erasers import eraser_of
    from journal.erasure.requests import State
    from journal.erasure.wanted import requests

    waiting = {State.ACCEPTED, State.ON_HOLD, State.PURGED}
    concerned = [
        r
        for r in requests(eraser_of(context.session).journal)
        if r.state in waiting and any(t.table_id == context.table.id for t in r.targets)
    ]
    table = str(context.table.name)
    if not concerned:
        return JobReport(context.job_id, "purge", table, "nothing", "no request waits")
    if context.dry_run:
        return _planned(context, concerned)
    done = eraser_of(context.session).purge(
        lambda: nullcontext(context.engine()),
        context.session.user or "somebody",
        [r.id for r in concerned],
        context.progress,
    )
    for name, error in done.failures.items():
        context.log(f"{name}: {error.message}")
    if done.failures:
        raise next(iter(done.failures.values()))
    states = {r.id: r.state.value for r in done.requests}
    reports = [r for r in done.reports if r.state == "done"]
    return JobReport(
        id=context.job_id,
        kind="purge",
        table=table,
        state="done" if reports or State.COMPLETED in set(states.values()) else "nothing",
        why=", ".join(f"{name} {state}" for name, state in states.items()),
        read=sum((r.read for r in reports), Volume()),
        written=sum((r.written for r in reports), Volume()),
        removed=sum((r.removed for r in reports), Volume()),
        details={"requests": states},
    )


def _planned(context: JobContext, concerned: Sequence[Request]) -> JobReport:
    """What would be rewritten and removed, of requests that no hold keeps back."""
    from gateway.erasers import eraser_of

    found = eraser_of(context.session).planned(context.table.id, concerned)
    return JobReport(
        id=context.job_id,
        kind="purge",
        table=str(context.table.name),
        state="planned",
        why=f"{len(concerned)} requests wait",
        read=found.read,
        removed=Volume(rows=found.rows),
        details={
            "requests": {r.id: r.state.value for r in concerned},
            "files_searched": found.searched,
            "files_skipped": found.skipped,
        },
    )


KIND = JobKind("purge", "remove what was erased from every file", _run, (), _run, _run)
