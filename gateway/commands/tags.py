"""``palimpsest tags``: proposals of tags, their confirmation, and a list of those there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any, TypeVar

import click
from sqlglot import exp

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.commands.rows import write_rows
from gateway.dbapi.connection import Connection
from gateway.procedures.personal_values import recognisers
from gateway.procedures.tag_proposals import TagProposal, propose_tags
from gateway.shell.files import named_table, table_name
from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import style_for, write_table
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold

_LIST = (
    'SELECT "schema", "table", "column", tag, kind, origin FROM system.tags'
    ' ORDER BY "schema", "table", "column", tag'
)
F = TypeVar("F", bound=Callable[..., Any])


def _sample_options(function: F) -> F:
    """Adds --sample, --region and --country: what is looked at, and how."""
    for option in reversed(_SAMPLE_OPTIONS):
        function = option(function)
    return function


_SAMPLE_OPTIONS = (
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        help="How many rows to look at, chosen by chance.",
    ),
    click.option(
        "--region", metavar="CC", help="Where phone numbers without a country code are of: DE, US."
    ),
    click.option(
        "--country",
        "countries",
        multiple=True,
        metavar="CC",
        help="Look for national numbers of this country as well; may be given again.",
    ),
)


@click.group("tags")
def command() -> None:
    """Propose tags for columns that hold personal data, and list those that there are.

    \b
    Examples:
      palimpsest tags propose hr.people --region DE --country de
      palimpsest tags confirm hr.people email phone
      palimpsest tags list
    """


@command.command("propose")
@click.argument("table")
@_sample_options
@JSON_OPTION
@upkeep_options
def propose(
    table: str,
    sample: int,
    region: str | None,
    countries: tuple[str, ...],
    as_json: bool,
    access: Access,
) -> None:
    """Show which columns of TABLE may hold personal data, by their names and some values.

    Mails, phone numbers, cards, bank accounts and national numbers are known by their values;
    names, addresses and birthdays by the names of columns. No value is shown, nothing is changed.

    \b
    Examples:
      palimpsest tags propose hr.people
      palimpsest tags propose hr.people --region US --country us --json
    """
    with _open(access, as_json) as connection, exit_on_error(as_json=as_json):
        found = _proposals(connection, table, sample, region, countries)
    if as_json:
        click.echo(json.dumps([asdict(p) for p in found]))
    elif not found:
        click.echo(f"Nothing in {table} looks like personal data.")
    else:
        columns = [ShownColumn(name, "VARCHAR") for name in ("column", "tags", "because of")]
        rows = [(p.column, ", ".join(p.tags), p.reason) for p in found]
        style = replace(style_for(sys.stdout), footer=False)
        write_table(ShownResult("TAGS", len(rows), tuple(columns), iter(rows)), sys.stdout, style)
        click.echo(f"Confirm with: palimpsest tags confirm {table} COLUMN ..")


@command.command("confirm")
@click.argument("table")
@click.argument("columns", nargs=-1)
@_sample_options
@JSON_OPTION
@upkeep_options
def confirm(
    table: str,
    columns: tuple[str, ...],
    sample: int,
    region: str | None,
    countries: tuple[str, ...],
    as_json: bool,
    access: Access,
) -> None:
    """Set the tags that are proposed for COLUMNS of TABLE; without COLUMNS, ask for each.

    \b
    Examples:
      palimpsest tags confirm hr.people
      palimpsest tags confirm hr.people email phone --region DE
    """
    with _open(access, as_json) as connection, exit_on_error(as_json=as_json):
        found = _proposals(connection, table, sample, region, countries)
        wanted = _chosen(found, columns) if columns else [p for p in found if _is_confirmed(p)]
        name = table_name(connection, table)
        node = exp.table_(name.name, db=name.schema, quoted=True).sql(dialect="duckdb")
        for proposal in wanted:
            column, *tags = (
                exp.to_identifier(n, quoted=True).sql(dialect="duckdb")
                for n in (proposal.column, *proposal.tags)
            )
            change = f"ALTER COLUMN {column} SET TAG = ({', '.join(tags)})"
            connection.execute(f"ALTER TABLE {node} {change}")
    if as_json:
        click.echo(json.dumps([{"column": p.column, "tags": p.tags} for p in wanted]))
    for proposal in () if as_json else wanted:
        click.echo(f"{proposal.column}: {', '.join(proposal.tags)}")


@command.command("list")
@JSON_OPTION
@upkeep_options
def list_tags(as_json: bool, access: Access) -> None:
    """List the tags of tables and columns, and where inherited ones come from.

    \b
    Examples:
      palimpsest tags list
      palimpsest tags list --json
    """
    with _open(access, as_json) as connection, exit_on_error(as_json=as_json):
        cursor = connection.execute(_LIST)
        write_rows(cursor, connection, as_json=as_json)


def _open(access: Access, as_json: bool) -> AbstractContextManager[Connection]:
    return open_connection(replace(access, dialect="duckdb"), "tags", as_json=as_json)


def _proposals(
    connection: Connection, table: str, sample: int, region: str | None, countries: Sequence[str]
) -> list[TagProposal]:
    """The proposals for a table, by what some of its rows hold as the user sees them."""
    looks_like = recognisers(region, countries)
    found = named_table(connection, table)
    names = [c.name for c in found.columns]
    source = exp.table_(found.name.name, db=found.name.schema, quoted=True)
    query = exp.select(*[exp.column(n, quoted=True) for n in names]).from_(source)
    with connection.cursor() as cursor:
        cursor.execute(f"{query.sql(dialect='duckdb')} USING SAMPLE {sample} ROWS")
        rows = cursor.fetchall()
    samples = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return list(propose_tags(samples, looks_like, _known_tags(connection, found)))


def _known_tags(connection: Connection, table: Table) -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {c.name: frozenset() for c in table.columns}
    with connection.cursor() as cursor:
        cursor.execute('SELECT "schema", "table", "column", tag FROM system.tags')
        for schema, name, column, tag in cursor.fetchall():
            if (fold(schema), fold(name)) == table.name.key:
                for of in [column] if column is not None else known:
                    known[of] |= {fold(tag)}
    return known


def _chosen(found: Sequence[TagProposal], columns: Sequence[str]) -> list[TagProposal]:
    by_name = {fold(p.column): p for p in found}
    missing = [c for c in columns if fold(c) not in by_name]
    if missing:
        proposed = ", ".join(p.column for p in found) or "none"
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"nothing is proposed for column {missing[0]}",
            advice=f"ALTER TABLE .. SET TAG tags any column; proposed are: {proposed}",
        )
    return [by_name[fold(c)] for c in columns]


def _is_confirmed(proposal: TagProposal) -> bool:
    question = f"{proposal.column}: {', '.join(proposal.tags)}? ({proposal.reason})"
    return click.confirm(question, err=True)
