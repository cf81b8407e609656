"""Rows of maintenance: legal holds, runs of jobs, backups. They are alike in every store.

They are facts about a store, not journal rows, so a run's row is written again when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlglot import exp

from journal.model.store_session import RecordSession
from journal.records.schema import BACKUPS, HOLDS, JOBS
from journal.records.statements import (
    RecordStatement,
    by,
    delete,
    execute,
    insert,
    select,
    update,
)

HOLD, JOB, BACKUP_COLUMNS = HOLDS.names, JOBS.names, BACKUPS.names
_RUNNING, _SUCCEEDED = "RUNNING", "SUCCEEDED"
_INTERRUPTED = ["INTERRUPTED", "the process that ran it ended"]
_ENDING = (
    "state ended_at rows_read rows_written rows_removed bytes_read bytes_written bytes_removed"
    " error_code error report log"
).split()
_LAST = ["kind", "table_id", "state", "attempt", "started_at", "ended_at"]
_HOLDS = select(HOLDS, order=["placed_at", "id"])
_RELEASE = update(HOLDS, ["released_by", "released_at", "predicate", "subject_value"], by("id"))
_END_JOB = update(JOBS, _ENDING, by("id"))
_INTERRUPT = update(JOBS, ["state", "error", "ended_at"], by("state"))
_INTERRUPT_ONE = update(JOBS, ["state", "error", "ended_at"], by("id", "state"))
_UNDER_WAY = select(JOBS, ["id", "table_id"], by("state"))
_OF_TABLE = select(
    JOBS,
    ["id", "kind", "started_at", "rows_removed"],
    by("table_id", "state", "dry_run"),
    order=["started_at", "id"],
)
_BACKUPS = select(BACKUPS, order=["made_at", "name"])
_DROP_BACKUP = delete(BACKUPS, by("table_id", "name"))
_PUT_SEGMENTS = update(BACKUPS, ["segments"], by("table_id", "name"))


def _last_runs() -> RecordStatement:
    real = select(JOBS, _LAST)
    assert isinstance(real.ast, exp.Select)
    of = [exp.column("kind"), exp.column("table_id")]
    latest = [exp.Ordered(this=exp.column(n), desc=True) for n in ("started_at", "attempt")]
    query = real.ast.distinct(*of).where(exp.not_(exp.column("dry_run")))
    return RecordStatement(query.order_by(*[o.copy() for o in of], *latest), real.gives)


_LAST_RUNS = _last_runs()


def add_hold(session: RecordSession, values: Mapping[str, Any]) -> None:
    """Record a hold."""
    execute(session, insert(HOLDS), [values.get(name) for name in HOLD])


def holds(session: RecordSession) -> list[tuple[Any, ...]]:
    """Every hold, oldest first."""
    return execute(session, _HOLDS)


def release_hold(session: RecordSession, id: str, by: str | None, at: datetime) -> None:  # noqa: A002 - as the column is called
    """Record that a hold ended; the identifier it named is forgotten."""
    execute(session, _RELEASE, [by, at, None, None, id])


def add_job(session: RecordSession, values: Mapping[str, Any]) -> None:
    """Record that a run began."""
    execute(session, insert(JOBS), [values.get(name) for name in JOB])


def end_job(session: RecordSession, id: str, values: Mapping[str, Any]) -> None:  # noqa: A002
    """Record how a run ended."""
    execute(session, _END_JOB, [*(values.get(name) for name in _ENDING), id])


def interrupt_jobs(session: RecordSession, at: datetime) -> None:
    """Runs that an earlier process left running were interrupted with it."""
    execute(session, _INTERRUPT, [*_INTERRUPTED, at, _RUNNING])


def running_jobs(session: RecordSession) -> list[tuple[str, int]]:
    """Id and table of the runs that are on record as under way."""
    return [(job_id, table_id) for job_id, table_id in execute(session, _UNDER_WAY, [_RUNNING])]


def jobs_of_table(session: RecordSession, table_id: int) -> list[tuple[str, str, datetime, int]]:
    """Id, kind, start and removed rows of a table's real runs that succeeded, oldest first."""
    return [
        (job_id, kind, began, removed or 0)
        for job_id, kind, began, removed in execute(
            session, _OF_TABLE, [table_id, _SUCCEEDED, False]
        )
    ]


def interrupt_job(session: RecordSession, id: str, at: datetime) -> None:  # noqa: A002
    """Record that the process of a run ended before the run did."""
    execute(session, _INTERRUPT_ONE, [*_INTERRUPTED, at, id, _RUNNING])


def last_runs(session: RecordSession) -> list[tuple[Any, ...]]:
    """Kind, table id, state, attempt and times of the latest real run of each kind and table."""
    return execute(session, _LAST_RUNS)


def add_backup(session: RecordSession, values: Sequence[Any]) -> None:
    """Record a named backup."""
    execute(session, insert(BACKUPS), values)


def backups(session: RecordSession) -> list[tuple[Any, ...]]:
    """Every named backup, oldest first."""
    return execute(session, _BACKUPS)


def drop_backup(session: RecordSession, table_id: int, name: str) -> None:
    """Forget a named backup."""
    execute(session, _DROP_BACKUP, [table_id, name])


def put_backup_segments(session: RecordSession, table_id: int, name: str, segments: str) -> None:
    """Replace what a named backup holds, after an erasure."""
    execute(session, _PUT_SEGMENTS, [segments, table_id, name])
