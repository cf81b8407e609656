"""``palimpsest eject``: leave a table to its database, as a plain one."""

from __future__ import annotations

import click

from gateway.commands.adopt import tell
from gateway.commands.connecting import JSON_OPTION, Access, access_options, connected
from gateway.commands.failure import failing
from gateway.errors import mapping


@click.command("eject")
@click.argument("table")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@JSON_OPTION
@access_options
def command(table: str, dry_run: bool, as_json: bool, access: Access) -> None:
    """Make TABLE of a PostgreSQL database a plain table of its current rows.

    Its history stays beside it: an adopted journal as it is, another one as TABLE_history.

    \b
    Examples:
      palimpsest eject hr.depts -w palimpsest+postgresql://localhost/company --dry-run
      palimpsest eject hr.depts -w palimpsest+postgresql://localhost/company
    """
    with connected(access, "eject", as_json=as_json) as connection:
        with failing(as_json=as_json), mapping():
            # Loaded here, for it needs the driver of the database.
            from gateway.adopting import eject

            steps = eject(connection.session, table, run=not dry_run)
    tell(steps, dry_run=dry_run, as_json=as_json)
