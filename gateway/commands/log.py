"""``palimpsest log``: who committed what, when."""

from __future__ import annotations

from dataclasses import replace

import click
from sqlglot import exp

from gateway.commands.connecting import JSON_OPTION, Access, access_options, open_connection
from gateway.commands.failure import exit_on_error
from gateway.commands.rows import write_rows
from gateway.procedures.procedures import no_table
from gateway.shell.files import table_name

_SHOWN = (
    "version",
    "committed_at",
    "user",
    "application",
    "array_to_string(tables, ', ') AS tables",
    "rows_written",
    "message",
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

    Each line has the version, time, user, application, message and the tables of a commit whose
    rows or definitions it changed. TABLE may have been dropped since. Other commands read the
    tables as of such a version with --as-of VERSION.

    \b
    Examples:
      palimpsest log
      palimpsest log hr.depts --limit 5
      palimpsest log --json | jq '.[0].version'
    """
    own = replace(access, dialect="duckdb")
    with open_connection(own, "log", as_json=as_json) as connection, exit_on_error(as_json=as_json):
        cursor = connection.cursor()
        query = exp.select(*(["*"] if as_json else _SHOWN), dialect="duckdb")
        query = query.from_("system.transactions").order_by("version DESC").limit(limit)
        values = []
        if table is not None:
            query = query.where("list_contains(tables, ?)", dialect="duckdb")
            name = table_name(connection, table)
            session = connection.client_session
            known = session.catalog.get(name)
            values.append(str(name if known is None else known.name))
            if known is None:
                # A dropped table has commits, too; a misspelled one has none.
                cursor.execute(query.limit(1).sql(dialect="duckdb"), values)
                if cursor.fetchone() is None:
                    raise no_table(name, session.catalog, session.settings.role)
        cursor.execute(query.sql(dialect="duckdb"), values)
        write_rows(cursor, connection, as_json=as_json)
