"""``palimpsest import``: append a file's rows to a table."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from gateway.commands.connecting import JSON_OPTION, Access, access_options, open_connection
from gateway.commands.failure import exit_on_error
from gateway.commands.param_types import Place
from gateway.commands.progress import show_progress
from gateway.errors import mapping
from gateway.session.typed_names import column_names
from gateway.shell.files import FileOptions, Imported, import_file
from gateway.shell.rejecting_imports import import_rejecting
from gateway.wording import counted
from journal.files.object_storage import local_copy_of
from rewriter.writing.copy_options import RejectOptions


@click.command("import")
@click.argument("file", type=Place(exists=True, allow_dash=True))
@click.argument("table")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    help="What standard input holds, with -; default: csv.",
)
@click.option("--create", is_flag=True, help="Make the table from the file's columns.")
@click.option("--key", metavar="COL,..", help="Columns of the primary key, with --create.")
@click.option("--delimiter", metavar="CHAR", help="The character between the values of a CSV file.")
@click.option(
    "--header/--no-header", default=None, help="Whether the first line names the columns."
)
@click.option(
    "--null", metavar="TEXT", help="The text for NULL in a CSV file; default: the empty text."
)
@click.option(
    "--suppressed",
    type=click.Choice(["refuse", "skip"]),
    help="What becomes of rows that were erased: they stop the import, or are left out and"
    " counted; default: the session's suppressed_rows, else refuse.",
)
@click.option(
    "--rejects",
    type=click.Path(),
    metavar="REJECTS",
    help="Leave out rows of a CSV file that a column cannot take, and write them to this new file,"
    " which `palimpsest rejects` lists.",
)
@click.option(
    "--reject-limit", type=click.IntRange(1), metavar="N", help="With --rejects: at most so many."
)
@JSON_OPTION
@access_options
def command(
    file: str,
    table: str,
    form: str | None,
    create: bool,
    key: str | None,
    delimiter: str | None,
    header: bool | None,
    null: str | None,
    suppressed: str | None,
    rejects: str | None,
    reject_limit: int | None,
    as_json: bool,
    access: Access,
) -> None:
    """Append the rows of a CSV, JSON or Parquet FILE to TABLE: all of them, or none.

    FILE may be a URL of any file system that fsspec knows, s3://bucket/planes.csv, or - for
    standard input. A value that its column cannot take is named with its line; with --rejects the
    other rows are imported.

    The command matches columns by name. Imported rows obey keys and constraints like any others.

    \b
    Examples:
      palimpsest import planes.csv planes --create --key tailnum
      palimpsest import more.parquet hr.depts
      palimpsest import old.csv hr.depts --delimiter ';' --null NA
      palimpsest import old.csv hr.depts --rejects wrong.csv --reject-limit 100
      palimpsest import - hr.depts --format json < new.ndjson
    """
    if form is not None and file != "-":
        raise click.UsageError("--format goes with -; a file's name says what it holds")
    if key and not create:
        raise click.UsageError("--key goes with --create")
    if rejects and create:
        raise click.UsageError("--rejects goes with a table that there is, and so knows its types")
    if reject_limit and not rejects:
        raise click.UsageError("--reject-limit goes with --rejects")
    keys = column_names(key)
    options = FileOptions(delimiter, header, null)
    with open_connection(access, "import", as_json=as_json, make=create) as connection:
        started = time.monotonic()
        session = connection.client_session
        if suppressed is not None:
            session.settings = session.settings.with_setting("suppressed_rows", suppressed)
        with (
            exit_on_error(as_json=as_json),
            show_progress(f"importing {Path(file).name}", quiet=as_json) as advance,
            mapping(),
            _file_of(file, form) as path,
        ):
            shown = "STDIN" if file == "-" else file
            if rejects:
                asked = RejectOptions(rejects, reject_limit)
                done = import_rejecting(connection, str(path), table, asked, options, shown)
            else:
                done = import_file(
                    connection,
                    str(path),
                    table,
                    create=create,
                    key=keys,
                    options=options,
                    advance=advance,
                    shown=shown,
                )
    seconds = time.monotonic() - started
    _report(done, seconds, rejects, as_json=as_json)


def _report(done: Imported, seconds: float, rejects: str | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "table": done.table,
                    "rows": done.rows,
                    "skipped": done.skipped,
                    "rejected": done.rejected,
                    "columns": list(done.columns),
                    "created": done.created,
                    "seconds": round(seconds, 3),
                }
            )
        )
        return
    made = "Made" if done.created else "Appended to"
    rows = counted(done.rows, "row")
    if done.skipped:
        rows += f" ({counted(done.skipped, 'suppressed row')} skipped)"
    click.echo(f"{made} {done.table}: {rows} in {seconds:.1f} s.")
    if done.rejected:
        click.echo(f"{counted(done.rejected, 'row')} rejected: {rejects}.", err=True)


@contextmanager
def _file_of(file: str, form: str | None) -> Iterator[Path]:
    """A file of this machine with the rows: what comes by standard input only this user reads."""
    if file != "-":
        with local_copy_of(file) as path:
            yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-import-") as folder:
        made = Path(folder) / f"stdin.{form or 'csv'}"
        with made.open("wb") as written:
            shutil.copyfileobj(sys.stdin.buffer, written)
        yield made
