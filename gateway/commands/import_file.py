"""``palimpsest import``: append a file's rows to a table."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    access_options,
    open_connection,
    set_workers,
)
from gateway.commands.failure import exit_on_error
from gateway.commands.jdbc_options import JdbcOptions, reading_options
from gateway.commands.param_types import Place
from gateway.commands.progress import show_progress
from gateway.dbapi.connection import Connection
from gateway.session.typed_names import column_names
from gateway.shell.file_source import FileOptions
from gateway.shell.files import Imported, import_file
from gateway.shell.jdbc_databases import is_jdbc
from gateway.shell.jdbc_transfers import JdbcSource, import_jdbc
from gateway.shell.key_conflicts import APPEND, MERGE
from gateway.shell.rejecting_imports import import_rejecting
from gateway.shell.running import Advance
from gateway.wording import counted
from journal.files.object_storage import local_copy_of
from journal.local_engine.scratch import scratch
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
    "--reject-limit",
    type=click.IntRange(1),
    metavar="N",
    help="With --rejects: the most rows to leave out.",
)
@reading_options
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
    jdbc: JdbcOptions,
    access: Access,
) -> None:
    """Append the rows of a CSV, JSON or Parquet FILE, or of a database, to TABLE: all, or none.

    FILE may be a URL of any file system that fsspec knows, s3://bucket/planes.csv, or - for
    standard input. A value that its column cannot take is named with its line; with --rejects the
    other rows are imported.

    The command matches columns by name. Imported rows obey keys and constraints like any others.
    A row whose key is in TABLE stops the import; with --load merge it replaces the one that is
    there, whose columns that FILE lacks keep their values, and with --load ignore it is left out.

    \b
    Examples:
      palimpsest import planes.csv planes --create --key tailnum
      palimpsest import more.parquet hr.depts
      palimpsest import old.csv hr.depts --delimiter ';' --null NA
      palimpsest import changed.csv hr.depts --load merge
      palimpsest import old.csv hr.depts --rejects wrong.csv --reject-limit 100
      palimpsest import - hr.depts --format json < new.ndjson
      palimpsest import jdbc:postgresql://db/shop orders --from public.orders --create --key id
    """
    if is_jdbc(file):
        of_files = (form, delimiter, header, null, rejects, suppressed)
        _import_jdbc(file, table, create, key, as_json, jdbc, access, of_files)
        return
    jdbc.refuse_with_file()
    merges = jdbc.load not in {None, APPEND}
    _check_options(
        {
            "--format goes with -; a file's name says what it holds": form and file != "-",
            "--key goes with --create": key and not create,
            "--rejects goes with a table that there is, and so knows its types": rejects and create,
            "--reject-limit goes with --rejects": reject_limit and not rejects,
            "--load merge and ignore go with a table that there is": merges and create,
            "--load merge and ignore go without --rejects": merges and rejects,
        }
    )
    keys = column_names(key)
    options = FileOptions(delimiter, header, null)
    with open_connection(access, "import", as_json=as_json, make=create) as connection:
        started = time.monotonic()
        _set_suppressed(connection, suppressed)
        with (
            exit_on_error(as_json=as_json),
            show_progress(f"importing {Path(file).name}", quiet=as_json) as advance,
            _file_of(file, form) as path,
        ):
            limits = RejectOptions(rejects, reject_limit) if rejects else None
            shown = "STDIN" if file == "-" else file
            given = (connection, str(path), table, limits, options, shown)
            done = _load(*given, create=create, keys=keys, load=jdbc.load, advance=advance)
    seconds = time.monotonic() - started
    _report(done, seconds, rejects, as_json=as_json, merges=jdbc.load == MERGE)


def _load(
    connection: Connection,
    path: str,
    table: str,
    limits: RejectOptions | None,
    options: FileOptions,
    shown: str,
    *,
    create: bool,
    keys: Sequence[str],
    load: str | None,
    advance: Advance | None,
) -> Imported:
    """Import a file of this machine, which errors call ``shown``; with ``limits`` what fits."""
    if limits is not None:
        return import_rejecting(connection, path, table, limits, options, shown)
    return import_file(
        *(connection, path, table),
        create=create,
        key=keys,
        options=options,
        advance=advance,
        shown=shown,
        load=load or APPEND,
    )


def _set_suppressed(connection: Connection, suppressed: str | None) -> None:
    session = connection.client_session
    if suppressed is not None:
        session.settings = session.settings.with_setting("suppressed_rows", suppressed)


def _check_options(wrong: Mapping[str, object]) -> None:
    """Raise UsageError with the first text that holds."""
    for message, holds in wrong.items():
        if holds:
            raise click.UsageError(message)


def _import_jdbc(
    url: str,
    table: str,
    create: bool,
    key: str | None,
    as_json: bool,
    jdbc: JdbcOptions,
    access: Access,
    of_files: tuple[object, ...],
) -> None:
    if any(given is not None for given in of_files):
        raise click.UsageError("a database is read with --from or --query, not as a file")
    source = JdbcSource(
        url, jdbc.login("READ"), jdbc.table, jdbc.query, jdbc.columns, jdbc.incremental
    )
    with open_connection(access, "import", as_json=as_json, make=create) as connection:
        started = time.monotonic()
        with (
            exit_on_error(as_json=as_json),
            show_progress(f"importing into {table}", quiet=as_json) as advance,
        ):
            set_workers(connection, None, jdbc.master)
            done = import_jdbc(
                *(connection, source, table),
                load=jdbc.load or "append",
                create=create,
                key=column_names(key),
                advance=advance,
            )
    seconds = time.monotonic() - started
    if as_json:
        told = {"table": done.table, "rows": done.rows, "last": done.last}
        click.echo(json.dumps({**told, "seconds": round(seconds, 3)}))
        return
    last = "" if done.last is None else f", up to {jdbc.incremental} {done.last}"
    click.echo(f"Imported {counted(done.rows, 'row')} into {done.table}{last} in {seconds:.1f} s.")


def _report(
    done: Imported, seconds: float, rejects: str | None, *, as_json: bool, merges: bool
) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "table": done.table,
                    "rows": done.rows,
                    "inserted": done.rows - done.updated,
                    "updated": done.updated,
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
    if merges:
        made = "Merged into"
        rows = f"{counted(done.rows - done.updated, 'row')} inserted, {done.updated:,} updated"
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
    with scratch() as folder:
        made = folder / f"stdin.{form or 'csv'}"
        with made.open("wb") as written:
            shutil.copyfileobj(sys.stdin.buffer, written)
        yield made
