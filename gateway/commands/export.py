"""``palimpsest export``: write a table or a query to a file."""

from __future__ import annotations

import json
import time
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
from gateway.commands.jdbc_options import JdbcOptions, writing_options
from gateway.commands.param_types import Place
from gateway.commands.progress import show_progress
from gateway.session.typed_names import column_names
from gateway.shell.exports import WRITERS, export_rows
from gateway.shell.jdbc_databases import is_jdbc
from gateway.shell.jdbc_transfers import JdbcTarget, export_jdbc
from gateway.shell.splitting import split_statements
from gateway.wording import counted
from journal.files.object_storage import local_file_for
from journal.local_engine.whole_file import is_written_in_place


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
@click.option("--key", metavar="COL,..", help="Database, --load merge: the key columns.")
@writing_options
@JSON_OPTION
@access_options
def command(
    source: str,
    file: str,
    form: str | None,
    key: str | None,
    as_json: bool,
    jdbc: JdbcOptions,
    access: Access,
) -> None:
    """Write the current rows of TABLE, or the rows of QUERY, to FILE or into a database.

    The form follows the file's ending: .csv .tsv .json .jsonl .md .parquet. The command replaces an
    existing file only when the new one is complete. FILE may be a URL of any file system that
    fsspec knows.

    \b
    Examples:
      palimpsest export hr.depts depts.parquet
      palimpsest export "SELECT * FROM hr.depts WHERE deptno < 20" depts.csv
      palimpsest export hr.depts s3://bucket/depts.parquet
      palimpsest export hr.depts before.csv --as-of '2024-05-01 12:00'
      palimpsest export hr.depts jdbc:postgresql://db/shop --to public.depts --load merge --key id
    """
    pieces = split_statements(source, access.dialect)
    if len(pieces) != 1:
        raise click.UsageError("give one table or one query")
    if is_jdbc(file):
        _export_jdbc(pieces[0].text, file, key, as_json, jdbc, access)
        return
    jdbc.refuse_with_file()
    if jdbc.load is not None:
        raise click.UsageError("--load goes with a database, jdbc:..")
    if key is not None:
        raise click.UsageError("--key goes with a database, jdbc:..")
    with open_connection(access, "export", as_json=as_json) as connection:
        started = time.monotonic()
        with (
            exit_on_error(pieces[0], as_json=as_json),
            show_progress(f"writing {Path(file).name}", quiet=as_json) as advance,
            local_file_for(file) as path,
        ):
            rows = export_rows(connection, pieces[0].text, path, form, advance=advance)
            size = path.stat().st_size
    seconds = time.monotonic() - started
    if as_json:
        done = {"file": file, "rows": rows, "bytes": size, "seconds": round(seconds, 3)}
        click.echo(json.dumps(done))
        return
    in_place = is_written_in_place(Path(file))
    told = "" if in_place else f", {size:,} bytes"
    # Standard output may be the file, by its name of /dev/stdout.
    click.echo(f"Wrote {file}: {counted(rows, 'row')}{told} in {seconds:.1f} s.", err=in_place)


def _export_jdbc(
    source: str, url: str, key: str | None, as_json: bool, jdbc: JdbcOptions, access: Access
) -> None:
    if jdbc.table is None:
        raise click.UsageError("say which table of the database: --to TABLE")
    target = JdbcTarget(
        *(url, jdbc.login("WRITE"), jdbc.table, jdbc.load or "replace"),
        *(tuple(column_names(key)), jdbc.incremental),
    )
    with open_connection(access, "export", as_json=as_json) as connection:
        started = time.monotonic()
        with (
            exit_on_error(as_json=as_json),
            show_progress(f"writing {jdbc.table}", quiet=as_json) as advance,
        ):
            set_workers(connection, None, jdbc.master)
            done = export_jdbc(connection, source, target, advance=advance)
    seconds = time.monotonic() - started
    if as_json:
        told = {"table": done.table, "rows": done.rows, "seconds": round(seconds, 3)}
        click.echo(json.dumps(told))
        return
    click.echo(f"Wrote {counted(done.rows, 'row')} into {done.table} in {seconds:.1f} s.")
