"""``palimpsest adopt``: take over a table that a database has already, or Parquet files."""

from __future__ import annotations

import json

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.session.typed_names import column_names
from gateway.shell.table_files import adopt_files, has_folder
from journal.model.places import local_folder


@click.command("adopt")
@click.argument("table")
@click.option(
    "--key", metavar="COLUMNS", help="The key columns of TABLE, if the database declares none: a,b"
)
@click.option(
    "--from",
    "source",
    help="The Parquet file or folder that becomes TABLE, in a warehouse or behind Hive.",
)
@click.option(
    "--suffix", default="_journal", show_default=True, help="The ending of journals' names."
)
@click.option(
    "--version-column",
    default="version_number",
    show_default=True,
    help="The column that says when a row was written.",
)
@click.option(
    "--subsequent-column",
    default="subsequent_version_number",
    show_default=True,
    help="The column that says when it was deleted.",
)
@click.option(
    "--stale-writes",
    type=click.Choice(["refuse", "allow"]),
    default="refuse",
    show_default=True,
    help="Rows that other tools write to a classic journal at or below their key's version.",
)
@click.option(
    "--replace-view",
    is_flag=True,
    help="Replace a view called TABLE by that of a classic journal; eject brings it back.",
)
@click.option("--dry-run", is_flag=True, help="Report what the command would do, and do nothing.")
@JSON_OPTION
@upkeep_options
def command(
    table: str,
    key: str | None,
    source: str | None,
    suffix: str,
    version_column: str,
    subsequent_column: str,
    stale_writes: str,
    replace_view: bool,
    dry_run: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Adopt an existing table: the gateway manages it from then on.

    In a PostgreSQL database and behind Hive the command copies no row. In an embedded warehouse it
    copies the rows of Parquet files, and leaves the files as they are.

    If a database has a journal of the classic convention for the table (TABLE_journal), the journal
    stays as it is, and classic tools go on reading and writing it: a trigger refuses rows of
    theirs that nobody could see (--stale-writes allow leaves it out). A plain table becomes the
    journal's first rows, and a view takes its place. A view of somebody else's that is called TABLE
    gives way only with --replace-view.

    \b
    Examples:
      palimpsest adopt hr.depts -w palimpsest+postgresql://localhost/company --dry-run
      palimpsest adopt hr.depts --key deptno -w palimpsest+postgresql://localhost/company
      palimpsest adopt hr.depts --key deptno -w palimpsest+hive://localhost:10000/default
      palimpsest adopt hr.depts --replace-view -w palimpsest+postgresql://localhost/company
      palimpsest adopt hr.depts --key deptno --from lake/depts
    """
    names = (suffix, version_column, subsequent_column)
    keys = column_names(key)
    with open_connection(access, "adopt", as_json=as_json, make=source is not None) as connection:
        with exit_on_error(as_json=as_json):
            session = connection.client_session
            if source is not None and session.perform(has_folder):
                steps = adopt_files(connection, table, local_folder(source), keys, run=not dry_run)
            else:
                from gateway.procedures.adopting import adopt

                steps = adopt(
                    *(connection.session, table, keys, names),
                    run=not dry_run,
                    folder=source,
                    stale_writes=stale_writes,
                    replace_view=replace_view,
                )
    write_steps(steps, dry_run=dry_run, as_json=as_json)


def write_steps(steps: list[str], *, dry_run: bool, as_json: bool) -> None:
    """Write the steps of an adoption or ejection, done or planned."""
    if as_json:
        click.echo(json.dumps({"done": not dry_run, "steps": steps}))
        return
    for step in steps:
        click.echo(step)
    if dry_run:
        click.echo("Nothing was done; leave out --dry-run to do it.")
