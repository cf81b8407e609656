"""``palimpsest export``: write a table or a query to a file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from gateway.commands.connecting import JSON_OPTION, Access, access_options, open_connection
from gateway.commands.failure import exit_on_error
from gateway.commands.param_types import Place
from gateway.commands.progress import show_progress
from gateway.errors import mapping
from gateway.shell.exports import WRITERS, export_rows
from gateway.shell.splitting import split_statements
from gateway.wording import counted
from journal.files.object_storage import local_file_for


@click.command("export")
@click.argument("source", metavar="TABLE|QUERY")
@click.argument("file", type=Place())
@click.option(
    "-t",
    "--format",
    "form",
    type=click.Choice([*WRITERS.values(), "parquet"]),
    help="Form of the file; default: what its name ends in.",
)
@JSON_OPTION
@access_options
def command(source: str, file: str, form: str | None, as_json: bool, access: Access) -> None:
    """Write the current rows of TABLE, or the rows of QUERY, to FILE.

    The form follows the file's ending: .csv .tsv .json .jsonl .md .parquet. The command replaces an
    existing file only when the new one is complete. FILE may be a URL of any file system that
    fsspec knows.

    \b
    Examples:
      palimpsest export hr.depts depts.parquet
      palimpsest export "SELECT * FROM hr.depts WHERE deptno < 20" depts.csv
      palimpsest export hr.depts s3://bucket/depts.parquet
      palimpsest export hr.depts before.csv --as-of '2024-05-01 12:00'
    """
    pieces = split_statements(source, access.dialect)
    if len(pieces) != 1:
        raise click.UsageError("give one table or one query")
    with open_connection(access, "export", as_json=as_json) as connection:
        started = time.monotonic()
        with (
            exit_on_error(pieces[0], as_json=as_json),
            show_progress(f"writing {Path(file).name}", quiet=as_json) as advance,
            mapping(),
            local_file_for(file) as path,
        ):
            rows = export_rows(connection, pieces[0].text, path, form, advance=advance)
            size = path.stat().st_size
    seconds = time.monotonic() - started
    if as_json:
        done = {"file": file, "rows": rows, "bytes": size, "seconds": round(seconds, 3)}
        click.echo(json.dumps(done))
        return
    click.echo(f"Wrote {file}: {counted(rows, 'row')}, {size:,} bytes in {seconds:.1f} s.")
