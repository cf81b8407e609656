"""The kind ``purge``: removes erased rows from every file, and completes requests.

One run serves every accepted request that touches the table, and those about tables that were
dropped, or the requests that it is given; a request is purged in all its tables, or in none. The
report names the tables that a run takes along. What a legal hold keeps back waits for its release.
With ``unit_bytes`` large tables are written anew in units of so many bytes, each a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.engines import workers_of
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import find_request, requests
from journal.erasure.requests import WAITING, ErasureRequest, State
from journal.model.system_user import system_user
from journal.records.report import JobReport, Work
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from spark_compaction.contract import Engine


def _run(context: JobContext) -> JobReport:
    concerned = _waiting_requests(context)
    table = str(context.table.name)
    if not concerned:
        return JobReport(context.job_id, "purge", table, "nothing", "no request waits")
    along = _other_tables(context, concerned)
    if context.dry_run:
        return _dry_run_report(context, concerned, along)
    if along:
        context.log(_remark(along))
    done = erasure_of(context.session).purge(
        lambda: nullcontext(_engine(context, concerned)),
        context.session.recorded_user or system_user(),
        [r.id for r in concerned],
        context.progress,
        context.number("unit_bytes") or 0,
        context.watching,
    )
    for name, error in done.failures.items():
        context.log(f"{name}: {error.recorded}")
    if done.failures:
        raise next(iter(done.failures.values()))
    states = {r.id: r.state.value for r in done.requests}
    ended = State.COMPLETED in set(states.values())
    ended = ended or any(r.state == "done" for r in done.reports)
    whys = [", ".join(f"{name} {state}" for name, state in states.items())]
    why = "; ".join([*whys, _remark(along)] if along else whys)
    return JobReport.of(
        sum((r.work for r in done.reports), Work()),
        *(context.job_id, "purge", table, "done" if ended else "nothing", why),
        details={"requests": states, "takes_along": along},
    )


def _engine(context: JobContext, concerned: Sequence[ErasureRequest]) -> Engine:
    """The engine for the files of the tables that requests are about, as far as they hold keys."""
    state, session = context.session.journal.state, context.session
    tables = {t.table_id for r in concerned for t in r.targets} & state.tables.keys()
    segments = [s for i in tables for s in state.tables[i].manifest.segments]
    workers = workers_of(session.settings, session.engine)
    return workers.some_files(sum(s.bytes for s in segments))


def _waiting_requests(context: JobContext) -> list[ErasureRequest]:
    """The requests that wait for this table, or for one that was dropped: these wait for any.

    If the run is given requests, those of them that wait.
    """
    journal = erasure_of(context.session).journal
    if given := context.text("requests"):
        named = [find_request(journal, name.strip()) for name in given.split(",")]
        return [r for r in named if r.state in WAITING]
    there = {t.id for t in committed_state(context.session.journal).catalog.tables()}
    found = []
    for request in requests(journal):
        tables = {t.table_id for t in request.targets}
        dropped = {t.table_id for t in request.targets if t.lists} - there
        if request.state in WAITING and (context.table.id in tables or dropped):
            found.append(request)
    return found


def _other_tables(context: JobContext, concerned: Sequence[ErasureRequest]) -> list[str]:
    """The other tables in which requests that no hold keeps back wait."""
    free = [r for r in concerned if r.state == "ACCEPTED"]
    targets = [t for r in free for t in r.targets if t.mask]
    return sorted({t.table for t in targets if t.table_id != context.table.id})


def _remark(along: Sequence[str]) -> str:
    return f"the requests take along {', '.join(along)}"


def _dry_run_report(
    context: JobContext, concerned: Sequence[ErasureRequest], along: list[str]
) -> JobReport:
    """What would be rewritten, in all tables of requests that no hold keeps back."""
    plan = erasure_of(context.session).planned
    tables = sorted({t.table_id for r in concerned for t in r.targets if t.lists})
    return JobReport.of(
        sum((plan(table_id, concerned) for table_id in tables), Work()),
        *(context.job_id, "purge", str(context.table.name), "planned"),
        "; ".join([f"{len(concerned)} requests wait", *([_remark(along)] if along else [])]),
        details={
            "requests": {r.id: r.state.value for r in concerned},
            "takes_along": along,
        },
    )


KIND = JobKind(
    "purge", "remove what was erased from every file", _run, options=("requests", "unit_bytes")
)
