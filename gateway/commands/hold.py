"""``palimpsest hold``: place and release legal holds, which keep rows from removal."""

from __future__ import annotations

from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.commands.rows import write_rows

_LIST = (
    "SELECT id, scope, CASE WHEN h.table_id IS NULL THEN 'every table'"
    " ELSE coalesce(t.schema || '.' || t.name, 'dropped table ' || h.table_id) END AS \"table\","
    " reason, placed_by, placed_at, released_at FROM system.holds AS h"
    " LEFT JOIN system.tables AS t ON t.table_id = h.table_id"
)


@click.group("hold")
def command() -> None:
    """Place, list and release legal holds, which keep rows from removal.

    A hold covers a table, rows that meet a condition, or a person. Until somebody releases it,
    erasure and retention leave what it covers.

    \b
    Examples:
      palimpsest hold place hr.depts --reason "matter 2024-17"
      palimpsest hold list
      palimpsest hold release 1b9f3c5a7d20
    """


@command.command("place")
@click.argument("table", required=False)
@click.option("--where", metavar="CONDITION", help="Hold only rows that meet this condition.")
@click.option("--subject", metavar="COLUMN=VALUE", help="Hold only rows of this person.")
@click.option(
    "--reason", required=True, metavar="TEXT", help="Why; errors that the hold causes show it."
)
@JSON_OPTION
@upkeep_options
def place(
    table: str | None,
    where: str | None,
    subject: str | None,
    reason: str,
    as_json: bool,
    access: Access,
) -> None:
    """Place a hold on TABLE, or on a person in every table.

    \b
    Examples:
      palimpsest hold place hr.depts --reason "matter 2024-17"
      palimpsest hold place hr.people --where "dept = 10" --reason audit
      palimpsest hold place --subject email=ada@example.org --reason "matter 2024-18"
    """
    given = {"table": table, "where": where, "subject": subject, "reason": reason}
    _call_procedure(
        "system.hold", {k: v for k, v in given.items() if v is not None}, as_json, access
    )


@command.command("release")
@click.argument("hold")
@JSON_OPTION
@upkeep_options
def release(hold: str, as_json: bool, access: Access) -> None:
    """Release the hold with this id; erasures that waited for it go on.

    \b
    Examples:
      palimpsest hold release 1b9f3c5a7d20
    """
    _call_procedure("system.release", {"hold": hold}, as_json, access)


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="List released holds too.")
@JSON_OPTION
@upkeep_options
def list_holds(everything: bool, as_json: bool, access: Access) -> None:
    """List the holds in force: who, why and since when.

    \b
    Examples:
      palimpsest hold list
      palimpsest hold list --all --json
    """
    where = "" if everything else " WHERE h.released_at IS NULL"
    with open_connection(access, "hold", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            cursor = connection.execute(f"{_LIST}{where} ORDER BY placed_at")
            write_rows(cursor, connection, as_json=as_json)


def _call_procedure(procedure: str, given: dict[str, Any], as_json: bool, access: Access) -> None:
    with open_connection(access, "hold", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            arguments = ", ".join(f"{name} => ?" for name in given)
            cursor = connection.execute(f"CALL {procedure}({arguments})", list(given.values()))
            write_rows(cursor, connection, as_json=as_json)
