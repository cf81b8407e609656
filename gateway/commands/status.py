"""``palimpsest status``: who has a store open, how large it is, what is due, and what failed."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.rows import dict_rows
from gateway.dbapi.connection import Connection
from gateway.jobs.due_jobs import planned_jobs
from gateway.sharing.folder import Owner, owner_of
from gateway.wording import counted, size_text
from journal.model.lazy_dataclass import dataclass

_TABLES = (
    'SELECT schema || \'.\' || "table" AS "table", head_rows, delta_rows, base_rows, history_rows,'
    " segments, bytes, lag_ms FROM system.journals ORDER BY 1"
)
_SESSIONS = (
    'SELECT id, s."user", application, front_end, client, state FROM system.sessions AS s'
    " ORDER BY id"
)
_SAFE_MODE = (
    'SELECT is_on, changed_at, "user", reason FROM system.safe_mode ORDER BY seq DESC LIMIT 1'
)
_RUNS = (
    "SELECT kind, table_name, state, error_code, error, ended_at FROM system.jobs"
    " WHERE NOT dry_run ORDER BY started_at DESC LIMIT 10000"
)
_ERASURES = (
    "SELECT state, count(*) AS requests FROM system.erasures"
    " WHERE state IN ('ACCEPTED', 'ON_HOLD', 'PURGED') GROUP BY state ORDER BY state"
)
_FAILED = frozenset({"FAILED", "INTERRUPTED"})


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What is shown; rows by the names of their columns, as ``--json`` writes them."""

    place: str
    open_in: str | None
    sessions: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    erasures: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    safe_mode: dict[str, Any] | None


@click.command("status")
@JSON_OPTION
@upkeep_options
def command(as_json: bool, access: Access) -> None:
    """Show who has a warehouse open, sizes by tier, jobs that are due, and failures.

    The exit code is 1 if the latest run of a job on some table failed or was interrupted. On
    PostgreSQL and Hive stores sessions are those of this process alone; a server's are shown by
    `palimpsest status --url palimpsest://host:5433/`.

    \b
    Examples:
      palimpsest status
      palimpsest status --json
      palimpsest status -w palimpsest+postgresql://me@localhost:5432/company
    """
    with open_connection(access, "status", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            report = _report(connection)
    if as_json:
        click.echo(json.dumps(asdict(report), default=str))
    else:
        _write(report)
    if report.failed:
        sys.exit(STATEMENT)


def _report(connection: Connection) -> StatusReport:
    session = connection.client_session
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for run in dict_rows(connection, _RUNS):
        latest.setdefault((run["kind"], run["table_name"]), run)
    folder = Path(session.place)
    owner = owner_of(folder) if folder.is_dir() else None
    sessions = dict_rows(connection, _SESSIONS)
    return StatusReport(
        session.place,
        None if owner is None or owner.pid == os.getpid() else _owner_text(owner),
        [s for s in sessions if s["application"] != "palimpsest status"],
        dict_rows(connection, _TABLES),
        [asdict(job) for job in session.perform(planned_jobs)],
        dict_rows(connection, _ERASURES),
        [run for run in latest.values() if run["state"] in _FAILED],
        next((row for row in dict_rows(connection, _SAFE_MODE) if row["is_on"]), None),
    )


def _owner_text(owner: Owner) -> str:
    return f"{owner}, {owner.url}" if owner.url else str(owner)


def _write(report: StatusReport) -> None:
    sizes = [t["bytes"] for t in report.tables]
    size = None if None in sizes else sum(sizes)
    tables = counted(len(report.tables), "table")
    click.echo(f"{report.place}: {tables}, {size_text(size)} in segments")
    click.echo(f"open in {report.open_in}" if report.open_in else "open in no other process")
    if report.safe_mode is not None:
        mode = report.safe_mode
        why = f": {mode['reason']}" if mode["reason"] else ""
        since = f"{mode['changed_at']:%Y-%m-%d %H:%M} UTC"
        click.echo(f"SAFE MODE since {since} by {mode['user']}{why}")
    for one in report.sessions:
        user, client = one["user"] or "unknown", one["client"] or one["front_end"]
        application = f" ({one['application']})" if one["application"] else ""
        click.echo(f"session {one['id']}: {user}{application}, {client}, {one['state']}")
    for table in report.tables:
        tiers = (f"{table[f'{t}_rows']:,} {t}" for t in ("head", "delta", "base", "history"))
        segments = counted(table["segments"], "segment")
        size = size_text(table["bytes"])
        click.echo(f"{table['table']}: rows {', '.join(tiers)}; {segments}, {size}")
        if table["lag_ms"] is not None:
            click.echo(f"    readers past the gateway lag by at most {table['lag_ms'] / 1000:g} s")
    for state in report.erasures:
        click.echo(f"erasures: {counted(state['requests'], 'request')} {state['state']}")
    for job in report.jobs:
        at = "now" if job["at"] is None else f"{job['at']:%Y-%m-%d %H:%M} UTC"
        click.echo(f"due {at}: {job['kind']} of {job['table']} ({job['why']})")
    for run in report.failed:
        why = run["error_code"] or ""
        click.echo(
            f"{run['state']}: {run['kind']} of {run['table_name']}"
            f" {run['ended_at'] or ''}: {why} {run['error'] or ''}".rstrip(": "),
            err=True,
        )
