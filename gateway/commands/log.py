"""``palimpsest log``: who committed what, when."""

from __future__ import annotations

import click

from gateway.commands.connecting import JSON_OPTION, Access, access_options, connected
from gateway.commands.failure import failing
from gateway.commands.rows import show
from gateway.shell.files import table_name

_ALL = "SELECT * FROM system.transactions ORDER BY version DESC LIMIT ?"
_OF_TABLE = (
    "SELECT * FROM system.transactions WHERE list_contains(tables, ?) ORDER BY version DESC LIMIT ?"
)


@click.command("log")
@click.argument("table", required=False)
@click.option(
    "-l",
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many commits, the latest first.",
)
@JSON_OPTION
@access_options
def command(table: str | None, limit: int, as_json: bool, access: Access) -> None:
    """List the commits, the latest first, or those that changed TABLE.

    Each with version, time, user, application, message and what it changed. What was current at a
    version of the list can be read: --as-of VERSION.

    \b
    Examples:
      palimpsest log
      palimpsest log hr.depts --limit 5
      palimpsest log --json | jq '.[0].version'
    """
    with connected(access, "log", as_json=as_json) as connection, failing(as_json=as_json):
        cursor = connection.cursor()
        if table is None:
            cursor.execute(_ALL, [limit])
        else:
            cursor.execute(_OF_TABLE, [str(table_name(connection, table)), limit])
        show(cursor, connection, as_json=as_json)
