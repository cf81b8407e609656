"""``palimpsest erase``: submit, run and follow requests to erase people."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
)
from gateway.commands.failure import COPIES_LEFT, STATEMENT, exit_on_error, fail
from gateway.commands.progress import show_progress
from gateway.commands.queried_people import people_lines
from gateway.errors import mapped
from gateway.wording import counted

if TYPE_CHECKING:
    from journal.erasure.requests import ErasureRequest

_DAY_US = 24 * 3600 * 1_000_000


@click.group("erase")
def command() -> None:
    """Erase people from every version, segment, backup and list.

    A table takes part when a property says what identifies a person in it:
    ALTER TABLE hr.people SET TBLPROPERTIES ('erasure' = 'email LOWER'). From the moment that you
    submit a request no query returns the rows, at any point in time; `erase run` removes them.

    \b
    Examples:
      palimpsest erase submit --subject email=ada@example.org
      palimpsest erase run
      palimpsest erase list
    """


@command.command("submit")
@click.option(
    "--subject", multiple=True, metavar="TYPE=VALUE", help="A person; you may repeat this option."
)
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file of identifiers; its header names their types.",
)
@click.option(
    "--query", metavar="SQL", help="A query of identifiers; the names of its columns are types."
)
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Only in this table.")
@click.option("--reason", metavar="TEXT", help="Recorded with the request; name nobody in it.")
@click.option(
    "--suppress-days",
    type=click.IntRange(min=1),
    help="How long the identifiers may not be written again; default: for ever.",
)
@click.option(
    "--scope",
    "suppression",
    type=click.Choice(["key", "identifier", "all"]),
    default="identifier",
    show_default=True,
    help="What may not be written again: the keys of the rows that go; the identifiers, too, in"
    " tables where no row that stays holds them; or the identifiers everywhere.",
)
@click.option(
    "--dependents",
    type=click.Choice(["report", "refuse", "cascade"]),
    help="What becomes of rows that refer to erased ones. report: they stay, and the receipt counts"
    " them. refuse: the request fails while there are any. cascade: they are erased, too. Default:"
    " what each table says, else report.",
)
@click.option("--dry-run", is_flag=True, help="Only count keys, versions, files and bytes.")
@JSON_OPTION
@upkeep_options
def submit(
    subject: tuple[str, ...],
    file: Path | None,
    query: str | None,
    tables: tuple[str, ...],
    reason: str | None,
    suppress_days: int | None,
    suppression: str,
    dependents: str | None,
    dry_run: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Accept a request to erase people.

    \b
    Examples:
      palimpsest erase submit --subject email=ada@example.org
      palimpsest erase submit --file ids.csv --reason "ticket 4711"
      palimpsest erase submit --query "SELECT email FROM hr.leavers"
      palimpsest erase submit --subject customer=17 --dependents cascade --dry-run
    """
    from gateway.procedures import requests
    from gateway.procedures.erasing import read_subjects, subjects_of
    from journal.model.dependents import read_dependents
    from journal.model.suppression import read_suppression

    if file is not None and query is not None:
        raise click.UsageError("give --file or --query")
    with open_connection(access, "erase", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), show_progress("searching", quiet=as_json):
            lines = read_subjects(file) if file else []
            if query is not None:
                lines = [*lines, *people_lines(connection, query)]
            request = connection.client_session.perform(
                requests.submit,
                subjects_of(list(subject), lines),
                tables,
                reason=reason,
                expires_us=None if suppress_days is None else suppress_days * _DAY_US,
                dependents=None if dependents is None else read_dependents(dependents),
                suppression=read_suppression(suppression),
                dry_run=dry_run,
            )
    _write_requests([request], as_json=as_json)


@command.command("returned")
@click.argument("table")
@click.option(
    "--descriptor", metavar="TEXT", help="What identifies people in TABLE; default: its own."
)
@click.option("--reason", metavar="TEXT", help="Recorded with the request; name nobody in it.")
@click.option("--dry-run", is_flag=True, help="Only count keys, versions, files and bytes.")
@JSON_OPTION
@upkeep_options
def returned(
    table: str,
    descriptor: str | None,
    reason: str | None,
    dry_run: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Accept a request for the rows of TABLE that hold erased identifiers.

    The suppression list finds them, so nobody need know whom they are about. Use it for a table
    that is to get its erasure descriptor, or if rows came back past the gateway.

    \b
    Examples:
      palimpsest erase returned hr.old --descriptor "email LOWER" --dry-run
      palimpsest erase returned hr.people
    """
    from gateway.procedures import requests

    with open_connection(access, "erase", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), show_progress("searching", quiet=as_json):
            request = connection.client_session.perform(
                requests.submit_returned, table, descriptor, reason, dry_run=dry_run
            )
    _write_requests([request], as_json=as_json)


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_requests(as_json: bool, access: Access) -> None:
    """List all requests and their states."""
    from gateway.procedures import requests

    found = perform(access, "erase", as_json, requests.all_requests)
    if as_json:
        click.echo(json.dumps([r.to_json() for r in found]))
        return
    for request in found:
        click.echo(_request_line(request))


@command.command("status")
@click.argument("request")
@JSON_OPTION
@upkeep_options
def status(request: str, as_json: bool, access: Access) -> None:
    """Show one request and its receipt for each table."""
    from gateway.procedures import requests

    found = perform(access, "erase", as_json, requests.request_of, request)
    _write_requests([found], as_json=as_json)


@command.command("cancel")
@click.argument("request")
@JSON_OPTION
@upkeep_options
def cancel(request: str, as_json: bool, access: Access) -> None:
    """Cancel a request; this is possible until a purge has removed its rows."""
    from gateway.procedures import requests

    done = perform(access, "erase", as_json, requests.cancel, request)
    _write_requests([done], as_json=as_json)


@command.command("run")
@click.argument("named", nargs=-1, metavar="[REQUESTS]...")
@ENGINE_OPTION
@MASTER_OPTION
@JSON_OPTION
@upkeep_options
def run(
    named: tuple[str, ...],
    engine: str | None,
    master: str | None,
    as_json: bool,
    access: Access,
) -> None:
    """Purge accepted requests (all of them, if none is named) in one scan, and complete them.

    The run is a row of system.jobs. The exit code is 1 if a request could not be completed, and 5
    if all were and tables that nobody searched were made from rows of those that were searched.

    \b
    Examples:
      palimpsest erase run
      palimpsest erase run 47207f83 --engine local --json
    """
    from gateway.procedures import requests

    with open_connection(access, "erase", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), show_progress("purging", quiet=as_json):
            set_workers(connection, engine, master)
            found, job = connection.client_session.perform(requests.purge, named)
    _write_requests(found, as_json=as_json)
    if job is None and not found and not as_json:
        click.echo("No request waits.")
    if job is not None and job.error is not None:
        fail(mapped(job.error), as_json=as_json)
    if any(r.state.value not in {"COMPLETED", "CANCELLED"} for r in found):
        sys.exit(STATEMENT)
    left = sorted({t.table for r in found if r.state == "COMPLETED" for t in r.targets
                   if t.holds_copies})  # fmt: skip
    if left:
        click.echo(
            f"WARNING: {', '.join(left)} may hold copies, and nobody searched there: palimpsest"
            f" erase returned {left[0]} --descriptor '..' hides who was erased; if nobody is in it,"
            f" ALTER TABLE {left[0]} UNSET TBLPROPERTIES ('copied_from')",
            err=True,
        )
        sys.exit(COPIES_LEFT)


@command.command("readmit")
@click.option(
    "--subject",
    multiple=True,
    metavar="TYPE=VALUE",
    help="A person whose identifier may be written again.",
)
@click.option("--request", metavar="ID", help="Everything that this request suppressed, keys too.")
@upkeep_options
def readmit(subject: tuple[str, ...], request: str | None, access: Access) -> None:
    """Allow erased identifiers to be written again; erased rows stay erased.

    \b
    Examples:
      palimpsest erase readmit --subject email=ada@example.org
    """
    from gateway.procedures import requests
    from gateway.procedures.erasing import subjects_of

    if bool(subject) == (request is not None):
        raise click.UsageError("give --subject or --request")
    with open_connection(access, "erase") as connection:
        with exit_on_error():
            session = connection.client_session
            if request is not None:
                count = session.perform(requests.readmit_request, request)
            else:
                found = subjects_of(list(subject), [])
                count = session.perform(requests.readmit_subjects, found)
    click.echo(f"{count} entries of the suppression list removed.")


@command.command("scope")
@click.option(
    "--allow",
    multiple=True,
    metavar="PATTERN",
    help="Requests reach only these tables: hr.*, *.people",
)
@click.option("--deny", multiple=True, metavar="PATTERN", help="Requests never reach these tables.")
@click.option("--reset", is_flag=True, help="Clear both lists first: requests reach every table.")
@JSON_OPTION
@upkeep_options
def scope(
    allow: tuple[str, ...], deny: tuple[str, ...], reset: bool, as_json: bool, access: Access
) -> None:
    """Set or show which schemas and tables requests reach.

    A list that you give replaces the old one; the other list stays. A name alone means a table of
    the home schema, or all tables of a schema.

    \b
    Examples:
      palimpsest erase scope --allow "hr.*" --allow sales --deny hr.archive
      palimpsest erase scope --allow "*"
    """
    from gateway.procedures import requests

    found, unmatched = perform(
        access, "erase", as_json, requests.change_scope, allow, deny, reset=reset
    )
    for pattern in unmatched:
        click.echo(f"WARNING: no table fits {pattern}; it is kept for later ones", err=True)
    if as_json:
        click.echo(json.dumps({"allow": found.allow, "deny": found.deny}))
    else:
        denied = ", ".join(found.deny) or "nothing"
        click.echo(f"Reached: {', '.join(found.allow)}. Never: {denied}.")


def _request_line(request: ErasureRequest) -> str:
    erased = sum(t.versions_removed + t.copies_removed for t in request.targets)
    keys = sum(t.keys for t in request.targets)
    waits = f"  (waits for {request.waits_for})" if request.waits_for else ""
    named = ", ".join(f"{n} {t}" for t, n in request.types.items()) or "a condition"
    done = f"{counted(keys, 'key')}, {counted(erased, 'version')} removed"
    return f"{request.id}  {request.state}  {named}: {done}{waits}"


def _write_requests(requests: list[ErasureRequest], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([r.to_json() for r in requests]))
        return
    for request in requests:
        click.echo(_request_line(request))
        for target in request.targets:
            searched = counted(target.files_searched, "file")
            files = f"{searched} searched, {target.files_skipped} skipped"
            kept = target.kept_searched + target.copies_searched
            if kept or target.kept_skipped or target.copies_skipped:
                files += f"; of backups {kept} and {target.kept_skipped + target.copies_skipped}"
            removed = target.versions_removed + target.copies_removed
            rest = f"{counted(target.keys, 'key')}; {files}; {removed} removed"
            if target.remarks:
                rest = (
                    f"{rest}; {target.remarks}" if target.outcome != "NOT_SEARCHED" else target.why
                )
            click.echo(f"  {target.table}: {target.outcome}  {rest}")
