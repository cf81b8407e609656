"""The catalog tables of upkeep: legal holds, runs of jobs, named backups.

Made when a warehouse is opened that has none yet. All SQL here is constant text over schema
``_palimpsest``; values are parameters. The rows are facts about the warehouse, not journal rows, so
a run's row is updated as it goes on. Their rows are alike in every store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from journal.local_engine.session import DuckDBSession
from journal.model.store_session import StoreSession

_TABLES = (
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.holds (id VARCHAR, scope VARCHAR, table_id BIGINT,"
        " predicate VARCHAR, subject_column VARCHAR, subject_value VARCHAR, reason VARCHAR,"
        " placed_by VARCHAR, placed_at TIMESTAMPTZ, released_by VARCHAR, released_at TIMESTAMPTZ)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.jobs (id VARCHAR, kind VARCHAR, table_id BIGINT,"
        " table_name VARCHAR, state VARCHAR, attempt INTEGER, dry_run BOOLEAN, cause VARCHAR,"
        " user_name VARCHAR, options VARCHAR, started_at TIMESTAMPTZ, ended_at TIMESTAMPTZ,"
        " rows_read BIGINT, rows_written BIGINT, rows_removed BIGINT, bytes_read BIGINT,"
        " bytes_written BIGINT, bytes_removed BIGINT, error_code VARCHAR, error VARCHAR,"
        " report VARCHAR, log VARCHAR[])"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.backups (name VARCHAR, kind VARCHAR,"
        " table_id BIGINT, table_name VARCHAR, version BIGINT, rows BIGINT, bytes BIGINT,"
        " segments VARCHAR, made_by VARCHAR, made_at TIMESTAMPTZ, expires_at TIMESTAMPTZ)"
    ),
)
HOLD = (
    "id scope table_id predicate subject_column subject_value reason placed_by placed_at"
    " released_by released_at"
).split()
JOB = (
    "id kind table_id table_name state attempt dry_run cause user_name options started_at ended_at"
    " rows_read rows_written rows_removed bytes_read bytes_written bytes_removed error_code error"
    " report log"
).split()
BACKUP = "name kind table_id table_name version rows bytes segments made_by made_at expires_at"
BACKUP_COLUMNS = BACKUP.split()


def ensure(session: DuckDBSession) -> None:
    """Make the tables that are not there yet."""
    for statement in _TABLES:
        session.text(statement)


def add_hold(session: StoreSession, values: Mapping[str, Any]) -> None:
    """Record a hold."""
    session.text(
        "INSERT INTO _palimpsest.holds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [values.get(name) for name in HOLD],
    )


def holds(session: StoreSession) -> list[tuple[Any, ...]]:
    """Every hold, oldest first."""
    return session.text(
        "SELECT id, scope, table_id, predicate, subject_column, subject_value, reason, placed_by,"
        " placed_at, released_by, released_at FROM _palimpsest.holds ORDER BY placed_at, id"
    )


def release_hold(session: StoreSession, id: str, by: str | None, at: datetime) -> None:  # noqa: A002 - as the column is called
    """Record that a hold ended; the identifier it named is forgotten."""
    session.text(
        "UPDATE _palimpsest.holds SET released_by = ?, released_at = ?, predicate = NULL,"
        " subject_value = NULL WHERE id = ?",
        [by, at, id],
    )


def add_job(session: StoreSession, values: Mapping[str, Any]) -> None:
    """Record that a run began."""
    session.text(
        "INSERT INTO _palimpsest.jobs VALUES"
        " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [values.get(name) for name in JOB],
    )


def end_job(session: StoreSession, id: str, values: Mapping[str, Any]) -> None:  # noqa: A002
    """Record how a run ended."""
    session.text(
        "UPDATE _palimpsest.jobs SET state = ?, ended_at = ?, rows_read = ?, rows_written = ?,"
        " rows_removed = ?, bytes_read = ?, bytes_written = ?, bytes_removed = ?, error_code = ?,"
        ' error = ?, report = ?, "log" = ? WHERE id = ?',
        [*(values.get(name) for name in _ENDING), id],
    )


_ENDING = (
    "state ended_at rows_read rows_written rows_removed bytes_read bytes_written bytes_removed"
    " error_code error report log"
).split()


def interrupt_jobs(session: DuckDBSession, at: datetime) -> None:
    """Runs that an earlier process left running were interrupted with it."""
    session.text(
        "UPDATE _palimpsest.jobs SET state = 'INTERRUPTED', ended_at = ?,"
        " error = 'the process that ran it ended' WHERE state = 'RUNNING'",
        [at],
    )


def running_jobs(session: StoreSession) -> list[tuple[str, int]]:
    """Id and table of the runs that are on record as under way."""
    rows = session.text("SELECT id, table_id FROM _palimpsest.jobs WHERE state = 'RUNNING'")
    return [(job_id, table_id) for job_id, table_id in rows]


def interrupt_job(session: StoreSession, id: str, at: datetime) -> None:  # noqa: A002
    """Record that the process of a run ended before the run did."""
    session.text(
        "UPDATE _palimpsest.jobs SET state = 'INTERRUPTED', ended_at = ?,"
        " error = 'the process that ran it ended' WHERE id = ? AND state = 'RUNNING'",
        [at, id],
    )


def last_runs(session: StoreSession) -> list[tuple[Any, ...]]:
    """Kind, table id, state, attempt and times of the latest real run of each kind and table."""
    return session.text(
        "SELECT DISTINCT ON (kind, table_id) kind, table_id, state, attempt, started_at, ended_at"
        " FROM _palimpsest.jobs WHERE NOT dry_run"
        " ORDER BY kind, table_id, started_at DESC, attempt DESC"
    )


def add_backup(session: StoreSession, values: Sequence[Any]) -> None:
    """Record a named backup."""
    session.text(
        "INSERT INTO _palimpsest.backups VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", list(values)
    )


def backups(session: StoreSession) -> list[tuple[Any, ...]]:
    """Every named backup, oldest first."""
    return session.text(
        "SELECT name, kind, table_id, table_name, version, rows, bytes, segments, made_by, made_at,"
        " expires_at FROM _palimpsest.backups ORDER BY made_at, name"
    )


def drop_backup(session: StoreSession, table_id: int, name: str) -> None:
    """Forget a named backup."""
    session.text(
        "DELETE FROM _palimpsest.backups WHERE table_id = ? AND name = ?", [table_id, name]
    )


def put_backup_segments(session: StoreSession, table_id: int, name: str, segments: str) -> None:
    """Replace what a named backup holds, after an erasure."""
    session.text(
        "UPDATE _palimpsest.backups SET segments = ? WHERE table_id = ? AND name = ?",
        [segments, table_id, name],
    )
