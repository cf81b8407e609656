"""``palimpsest replica``: list replicas, promote and demote them, pull, and forget."""

from __future__ import annotations

import json
import sys

import click

from gateway.commands.connecting import (
    ENGINE_OPTION,
    JSON_OPTION,
    MASTER_OPTION,
    Access,
    open_connection,
    perform,
    set_workers,
    upkeep_options,
    url_of,
)
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.job import write_runs
from gateway.jobs.runs import run_named
from gateway.procedures import replicas
from gateway.procedures.replicas import ReplicaChange


@click.group("replica")
def command() -> None:
    """List replicas, promote one when its source is lost, and demote it again.

    \b
    Examples:
      palimpsest replica list
      palimpsest replica promote hr.people -w /disaster/warehouse
      palimpsest replica demote hr.people
    """


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_command(as_json: bool, access: Access) -> None:
    """List the replicas that this warehouse has, and those of its tables elsewhere.

    \b
    Examples:
      palimpsest replica list
      palimpsest replica list --json
    """
    rows = perform(access, "replica", as_json, replicas.list_replicas)
    if as_json:
        found = [
            {
                "table": r.table_name,
                "role": r.role,
                "place": r.place,
                "state": r.state,
                "version": r.version,
                "read_at": None if r.read_at is None else r.read_at.isoformat(),
                "files": r.files,
                "bytes": r.bytes,
                "milliseconds": r.milliseconds,
                "error": r.error,
            }
            for r in rows
        ]
        click.echo(json.dumps(found))
        return
    for r in rows:
        way = "to" if r.role == "source" else "from"
        read = "never" if r.read_at is None else f"{r.read_at:%Y-%m-%d %H:%M:%S} UTC"
        error = "" if r.error is None else f": {r.error}"
        click.echo(f"{r.table_name} {way} {r.place}: {r.state.lower()}, read {read}{error}")


@command.command("promote")
@click.argument("table")
@JSON_OPTION
@upkeep_options
def promote(table: str, as_json: bool, access: Access) -> None:
    """Let the replica TABLE take writes here; it no longer follows its source.

    \b
    Examples:
      palimpsest replica promote hr.people -w /disaster/warehouse
    """
    done = perform(access, "replica", as_json, replicas.promote_replica, table)
    _write(done, as_json)


@command.command("demote")
@click.argument("table")
@click.option("--to-follow", "place", metavar="URL", help="The other side, if there are several.")
@JSON_OPTION
@upkeep_options
def demote(table: str, place: str | None, as_json: bool, access: Access) -> None:
    """Let TABLE follow the other side of its replication, unless that lacks rows of it.

    \b
    Examples:
      palimpsest replica demote hr.people
    """
    done = perform(access, "replica", as_json, replicas.demote_replica, table, place)
    _write(done, as_json)


@command.command("forget")
@click.argument("table")
@click.argument("place")
@JSON_OPTION
@upkeep_options
def forget(table: str, place: str, as_json: bool, access: Access) -> None:
    """Forget the replica of TABLE in PLACE, which you have removed: erasures no longer wait for it.

    \b
    Examples:
      palimpsest replica forget hr.people palimpsest:////gone/warehouse
    """
    done = perform(access, "replica", as_json, replicas.forget_replicas, table, place)
    _write(done, as_json)


@command.command("pull")
@click.argument("source", metavar="PATH|URL")
@click.argument("tables", nargs=-1, required=True)
@ENGINE_OPTION
@MASTER_OPTION
@JSON_OPTION
@upkeep_options
def pull(
    source: str,
    tables: tuple[str, ...],
    engine: str | None,
    master: str | None,
    as_json: bool,
    access: Access,
) -> None:
    """Replicate TABLES of another warehouse into this one: its job replicate, from this side.

    \b
    Examples:
      palimpsest replica pull /data/warehouse hr.people -w /disaster/warehouse
    """
    target = url_of(access.warehouse)
    other = Access(source, access.dialect, access.user)
    with (
        open_connection(other, "replica", as_json=as_json) as connection,
        exit_on_error(as_json=as_json),
    ):
        set_workers(connection, engine, master)
        runs = connection.client_session.perform(run_named, "replicate", {"to": target}, tables)
    write_runs(runs, as_json=as_json)
    if any(run.failed for run in runs):
        sys.exit(STATEMENT)


def _write(done: ReplicaChange, as_json: bool) -> None:
    if as_json:
        told = {"table": done.table, "state": done.state, "version": done.version}
        click.echo(json.dumps(told))
        return
    click.echo(f"{done.table}: {done.state.lower()} at version {done.version}")
