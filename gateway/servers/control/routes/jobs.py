"""Jobs over HTTP: what ran, what is due, and runs that somebody asks for."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from gateway.governance.event_list import check_may_watch
from gateway.jobs.due_jobs import planned_jobs
from gateway.jobs.kind_names import kind_names
from gateway.jobs.runs import JOB_STATES
from gateway.servers.control.governed_route import GovernedRoute, SessionOf
from gateway.servers.control.request_bodies import RequestBody
from gateway.servers.control.statement_rows import rows_of, rows_of_call
from gateway.session.known_words import check_word

ROUTER = APIRouter(prefix="/jobs", tags=["jobs"], route_class=GovernedRoute)
_RUNS = (
    "SELECT id, kind, table_name, state, attempt, dry_run, cause, user_name, options, started_at,"
    " ended_at, rows_read, rows_written, rows_removed, error_code, error FROM system.jobs"
    " WHERE (? IS NULL OR kind = ?) AND (? IS NULL OR state = ?)"
    " ORDER BY started_at DESC, id LIMIT ? OFFSET ?"
)


class DueView(BaseModel):
    """A job that a scheduler would run: ``at``, or now if that is null, and why."""

    kind: str
    table: str
    why: str
    at: datetime | None


class WantedRun(RequestBody):
    """A run of a job: on a table or, without one, on all; options as CALL takes them."""

    table: str | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)


@ROUTER.get("")
def list_runs(
    session: SessionOf,
    kind: str | None = None,
    state: str | None = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[dict[str, Any]]:
    """The runs of jobs, the latest first. It takes MAINTAIN or ADMIN."""
    if kind is not None:
        check_word("kind of job", kind, kind_names())
    if state is not None:
        state = check_word("state of a job", state, JOB_STATES)
    values = (kind, kind, state, state, limit, offset)
    found = rows_of(session.session, _RUNS, values)
    return [{**row, "options": json.loads(row["options"] or "{}")} for row in found]


@ROUTER.get("/due")
def list_due(session: SessionOf) -> list[DueView]:
    """Which jobs are due, and when scheduled ones run next. It takes MAINTAIN or ADMIN."""
    check_may_watch(session.session)
    found = session.perform(planned_jobs)
    return [DueView(kind=d.kind, table=d.table, why=d.why, at=d.at) for d in found]


@ROUTER.post("/{kind}")
def run_job(session: SessionOf, kind: str, wanted: WantedRun) -> list[dict[str, Any]]:
    """Run a job as ``CALL system.kind(..)`` does; the answer comes when the run has ended."""
    if kind not in kind_names():
        raise HTTPException(404, f"there is no job {kind}; there are {', '.join(kind_names())}")
    table = {} if wanted.table is None else {"table": wanted.table}
    return rows_of_call(session.session, f"system.{kind}", {**table, **wanted.options})
