"""``palimpsest eject``: turn a table back into a plain table of its database."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.commands.adopt import write_steps
from gateway.commands.connecting import JSON_OPTION, Access, access_options, open_connection
from gateway.commands.failure import exit_on_error
from gateway.commands.param_types import LocalFolder
from gateway.shell.table_files import eject_files


@click.command("eject")
@click.argument("table")
@click.option(
    "--to",
    "folder",
    type=LocalFolder(),
    help="From an embedded warehouse: the folder for the Parquet files.",
)
@click.option("--dry-run", is_flag=True, help="Report what the command would do, and do nothing.")
@JSON_OPTION
@access_options
def command(table: str, folder: Path | None, dry_run: bool, as_json: bool, access: Access) -> None:
    """Turn TABLE back into a plain table of its current rows, without the gateway.

    The history stays: an adopted journal as it is, another one as TABLE_history. From an embedded
    warehouse both go to Parquet files. UNDROP TABLE brings the table back.

    \b
    Examples:
      palimpsest eject hr.depts -w palimpsest+postgresql://localhost/company --dry-run
      palimpsest eject hr.depts -w palimpsest+postgresql://localhost/company
      palimpsest eject hr.depts --to lake/depts
    """
    with open_connection(access, "eject", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            if folder is not None:
                steps = eject_files(connection, table, folder, run=not dry_run)
            else:
                from gateway.procedures.adopting import eject

                steps = eject(connection.session, table, run=not dry_run)
    write_steps(steps, dry_run=dry_run, as_json=as_json)
