"""``palimpsest audit``: show the log of erasures and accesses, and verify its chain of hashes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.errors import mapping


@click.group("audit")
def command() -> None:
    """Show and verify the audit log of erasures and access packages, and their outcome.

    Each entry is chained to the one before by a keyed hash. No entry names an erased person.

    \b
    Examples:
      palimpsest audit verify
      palimpsest audit list --json
    """


@command.command("verify")
@click.option(
    "--head", metavar="HASH", help="A hash noted earlier, which the log must still contain."
)
@JSON_OPTION
@upkeep_options
def verify(head: str | None, as_json: bool, access: Access) -> None:
    """Check the chain of hashes; the exit code is 1 if an entry was changed, added or removed.

    \b
    Examples:
      palimpsest audit verify
      palimpsest audit verify --head 1f0c...
    """
    from gateway.procedures import requests

    with open_connection(access, "audit", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), mapping():
            found = connection.client_session.perform(requests.audit_check, head)
    if as_json:
        click.echo(json.dumps({"clean": not found.problems, **asdict(found)}))
    else:
        for problem in found.problems:
            click.echo(problem, err=True)
        said = "BROKEN" if found.problems else "Whole"
        click.echo(f"{said}: {found.entries} entries, newest hash {found.head}")
    if found.problems:
        sys.exit(STATEMENT)


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_entries(as_json: bool, access: Access) -> None:
    """Show all entries, oldest first."""
    from gateway.procedures import requests
    from journal.model.version import to_datetime

    with open_connection(access, "audit", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), mapping():
            rows = connection.client_session.perform(requests.audit_entries)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        moment = to_datetime(row.at).isoformat(sep=" ", timespec="seconds")
        click.echo(f"{row.seq}  {moment}  {row.actor}  {row.action}  {row.object}  {row.detail}")
