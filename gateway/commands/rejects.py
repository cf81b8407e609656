"""``palimpsest rejects``: the files with rows that imports left out."""

from __future__ import annotations

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.commands.rows import write_rows

_LIST = (
    'SELECT id, table_name AS "table", path, host, source, rows, made_by, made_at, expires_at'
    " FROM system.reject_files ORDER BY made_at"
)


@click.group("rejects")
def command() -> None:
    """List and remove the files with rows that imports left out.

    Erasures reach these files, and they expire: after 30 days, or as the policy REJECTS of their
    table says.

    \b
    Examples:
      palimpsest import old.csv hr.depts --rejects wrong.csv
      palimpsest rejects list
      palimpsest rejects drop 1b9f3c5a7d20
    """


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_rejects(as_json: bool, access: Access) -> None:
    """List the reject files: where they are, of which table, and until when.

    \b
    Examples:
      palimpsest rejects list
      palimpsest rejects list --json
    """
    with open_connection(access, "rejects", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            write_rows(connection.execute(_LIST), connection, as_json=as_json)


@command.command("drop")
@click.argument("file_id", metavar="ID")
@click.option("--gone", is_flag=True, help="Only forget it: it lay on a machine that is no more.")
@JSON_OPTION
@upkeep_options
def drop(file_id: str, gone: bool, as_json: bool, access: Access) -> None:
    """Remove the reject file with this ID.

    \b
    Examples:
      palimpsest rejects drop 1b9f3c5a7d20
      palimpsest rejects drop 1b9f3c5a7d20 --gone
    """
    with open_connection(access, "rejects", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            call = "CALL system.drop_rejects(file => ?, gone => ?)"
            cursor = connection.execute(call, [file_id, gone])
            write_rows(cursor, connection, as_json=as_json)
