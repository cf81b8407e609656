"""``palimpsest flush``: seal the heads of tables into segments."""

from __future__ import annotations

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.commands.progress import show_progress
from gateway.commands.rows import write_rows


@click.command("flush")
@click.argument("table", required=False)
@JSON_OPTION
@upkeep_options
def command(table: str | None, as_json: bool, access: Access) -> None:
    """Seal the head of TABLE (of every table, if none is named) into a Parquet segment.

    This changes no answer. The gateway seals heads by itself when they grow (setting flush_rows);
    use the command before you copy a warehouse, or after a large load.

    \b
    Examples:
      palimpsest flush
      palimpsest flush hr.depts
    """
    with open_connection(access, "flush", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), show_progress("sealing", quiet=as_json):
            cursor = connection.cursor()
            cursor.callproc("system.flush", [table] if table else [])
            write_rows(cursor, connection, as_json=as_json)
