"""``palimpsest audit``: show the log of erasures and accesses, and verify its chain of hashes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from gateway.commands import anchor_files
from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    open_connection,
    perform,
    upkeep_options,
)
from gateway.commands.failure import STATEMENT, exit_on_error
from journal.erasure.audit_anchor import Anchor
from journal.model.errors import Code, PalimpsestError
from journal.model.version import to_datetime

if TYPE_CHECKING:
    from gateway.dbapi.connection import Connection
    from journal.erasure.audit_check import AuditCheck


@click.group("audit")
def command() -> None:
    """Show and verify the audit log of erasures and access packages, and their outcome.

    Each entry is chained to the one before by a keyed hash. No entry names an erased person.

    \b
    Examples:
      palimpsest audit verify
      palimpsest audit anchor /mnt/auditors/anchors.jsonl
      palimpsest audit list --json
    """


@command.command("verify")
@click.option(
    "--head", metavar="HASH", help="A hash noted earlier, which the log must still contain."
)
@click.option(
    "--anchor",
    "files",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of `audit anchor`, whose entries the log must still contain (repeatable).",
)
@click.option(
    "--timestamp-roots",
    metavar="PEM",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Root certificates of time authorities, which the anchors' timestamps must go back to.",
)
@JSON_OPTION
@upkeep_options
def verify(
    head: str | None,
    files: tuple[Path, ...],
    timestamp_roots: Path | None,
    as_json: bool,
    access: Access,
) -> None:
    """Check the chain of hashes; the exit code is 1 if an entry was changed, added or removed.

    \b
    Examples:
      palimpsest audit verify
      palimpsest audit verify --head 1f0c...
      palimpsest audit verify --anchor /mnt/auditors/anchors.jsonl --timestamp-roots tsa.pem
    """
    if timestamp_roots is not None and not files:
        raise click.UsageError("--timestamp-roots needs --anchor, whose timestamps it checks")
    with open_connection(access, "audit", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            anchors = [anchor for file in files for anchor in anchor_files.anchors_in(file)]
            found = _check(connection, head, anchors)
            problems = list(found.problems)
            if files and not anchors:
                problems.append("there is no anchor in what --anchor names")
            if timestamp_roots is not None:
                problems += _stamps().stamp_problems(anchors, timestamp_roots)
    unchecked = sum(a.timestamp is not None for a in anchors) if timestamp_roots is None else 0
    anchored = {"anchors": len(anchors), "timestamps_not_checked": unchecked}
    _show(found.newest, problems, anchored, as_json=as_json)
    if unchecked and not as_json:
        click.echo(f"{unchecked} timestamps were not checked: name --timestamp-roots.")


@command.command("anchor")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--git", "commits", is_flag=True, help="Commit FILE to the repository it lies in.")
@click.option(
    "--timestamp", "authority", metavar="URL", help="Have a time authority (RFC 3161) stamp it."
)
@JSON_OPTION
@upkeep_options
def anchor(file: Path, commits: bool, authority: str | None, as_json: bool, access: Access) -> None:
    """Add the newest entry's number and hash to FILE, which should lie where others cannot write.

    `audit verify --anchor FILE` then finds a log whose end was cut, or that was written anew, by
    whoever has all of the store. A log that is not whole, or lacks what FILE has, is not anchored.

    \b
    Examples:
      palimpsest audit anchor /mnt/auditors/anchors.jsonl
      palimpsest audit anchor anchors/sales.jsonl --git
      palimpsest audit anchor anchors.jsonl --timestamp http://tsa.example.org/tsr
    """
    with open_connection(access, "audit", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            known = tuple(anchor_files.anchors_in(file))
            found = _check(connection, None, known)
            if found.problems:
                _show(found.newest, found.problems, {"file": str(file)}, as_json=as_json)
            newest = found.newest
            if authority is not None:
                newest = _stamps().stamped(newest, authority)
            anchor_files.add_anchor(file, newest)
            commit = None
            if commits:
                commit = anchor_files.commit_file(file, f"audit log: anchor entry {newest.entry}")
    if as_json:
        click.echo(json.dumps({**json.loads(newest.line()), "file": str(file), "commit": commit}))
        return
    click.echo(f"Anchored entry {newest.entry} in {file}.")
    if authority is not None:
        click.echo(f"{authority} stamped it at {_stamps().stamped_at(newest)}.")
    if commit is not None:
        click.echo(f"Committed as {commit}.")


def _stamps() -> ModuleType:
    try:
        from gateway.commands import anchor_stamps
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "timestamps need the package rfc3161-client",
            advice="pip install 'palimpsest-gateway[jobs]', or do without --timestamp",
        ) from error
    return anchor_stamps


def _check(connection: Connection, head: str | None, anchors: Sequence[Anchor]) -> AuditCheck:
    from gateway.procedures import requests

    return connection.client_session.perform(requests.audit_check, head, tuple(anchors))


def _show(
    newest: Anchor, problems: Sequence[str], more: Mapping[str, Any], *, as_json: bool
) -> None:
    """Say whether the log is whole; ends the command if it is not."""
    if as_json:
        told = {"entries": newest.entry, "head": newest.hash, "problems": list(problems)}
        click.echo(json.dumps({"clean": not problems, **told, **more}))
    else:
        for problem in problems:
            click.echo(problem, err=True)
        said = "BROKEN" if problems else "Whole"
        click.echo(f"{said}: {newest.entry} entries, newest hash {newest.hash}")
    if problems:
        sys.exit(STATEMENT)


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_entries(as_json: bool, access: Access) -> None:
    """Show all entries, oldest first."""
    from gateway.procedures import requests

    rows = perform(access, "audit", as_json, requests.audit_entries)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        moment = to_datetime(row.at).isoformat(sep=" ", timespec="seconds")
        click.echo(f"{row.seq}  {moment}  {row.actor}  {row.action}  {row.object}  {row.detail}")
