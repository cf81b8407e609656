"""``palimpsest verify``: check the files, manifests and rows of the whole warehouse."""

from __future__ import annotations

import json
import sys

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.progress import show_progress
from gateway.jobs.verify import verify_store
from gateway.wording import counted, size_text
from journal.local_engine.file_modes import MODE_SETTING, FileModes
from journal.model.verification import Verification
from journal.transactions.orphaned_rows import describe_counts


@click.command("verify")
@JSON_OPTION
@upkeep_options
def command(as_json: bool, access: Access) -> None:
    """Check the whole warehouse: files, manifests, and the rows in them. It repairs nothing.

    The command reads every segment file in full and compares it with its checksum, its rows with
    the manifest's counts, and keys and versions with the rules of a journal. It names legal holds
    whose condition finds other rows for other sessions. The exit code is 1 if anything is wrong;
    files that no manifest lists, which a crash may leave, do not count as wrong.

    \b
    Examples:
      palimpsest verify
      palimpsest verify --json | jq .clean
    """
    with open_connection(access, "verify", as_json=as_json) as connection:
        with (
            exit_on_error(as_json=as_json),
            show_progress("verifying", quiet=as_json) as advance,
        ):
            report, modes = connection.client_session.perform_watched(advance, verify_store)
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _write_report(report)
        if modes.is_open_to_all:
            click.echo(_open_mode_warning(modes), err=True)
    if not report.is_clean:
        sys.exit(STATEMENT)


def _open_mode_warning(modes: FileModes) -> str:
    return (
        f"every user of this machine can read the files (mode {modes.file:04o}):"
        f" open the warehouse once with ?{MODE_SETTING}=0700 to change that"
    )


def _write_report(report: Verification) -> None:
    for problem in report.problems:
        click.echo(f"{problem.kind}: {problem.table}: {problem.message}", err=True)
    for path in report.unlisted:
        click.echo(f"unlisted file (harmless): {path}", err=True)
    if report.dangling:
        click.echo(
            f"{describe_counts(report.dangling, 'nothing')} (erased, or past their date)", err=True
        )
    found = "Clean" if report.is_clean else f"DAMAGED, {counted(len(report.problems), 'problem')}"
    click.echo(
        f"{found}: {counted(report.tables, 'table')}, {counted(report.rows, 'row')} in "
        f"{counted(report.files, 'file')} "
        f"({size_text(report.known_bytes)}) checked."
    )
