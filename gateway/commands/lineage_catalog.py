"""Lineage of executed statements: ``palimpsest lineage show``, ``impact``, ``path``, ``diff``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click
from sqlglot import exp

from gateway.commands.connecting import (
    EARLIER_OPTION,
    JSON_OPTION,
    LATER_OPTION,
    Access,
    open_connection,
    upkeep_options,
)
from gateway.commands.failure import exit_on_error
from gateway.commands.lineage_edges import (
    change_lines,
    edge_line,
    edge_lines,
    graph_of_edges,
    json_edge,
    json_text,
)
from gateway.commands.lineage_forms import GRAPHS
from gateway.dbapi.connection import Connection
from gateway.lineage.affected_tables import affected_tables
from gateway.lineage.questions import lineage_around, lineage_changes, lineage_path
from gateway.lineage.walks import LEVELS_MAX
from gateway.shell.result import ShownColumn, ShownResult
from gateway.shell.table import style_for, write_table
from journal.model.errors import Code, PalimpsestError
from journal.model.version import Version, from_datetime
from rewriter.reading.past.time_travel import point_expression

_IMPACT = tuple(
    ShownColumn(name, kind)
    for name, kind in (
        *(("level", "INTEGER"), ("table", "VARCHAR")),
        *(("columns", "VARCHAR"), ("direct", "VARCHAR")),
    )
)
_LEVELS = click.IntRange(0, LEVELS_MAX)


@click.command("show")
@click.argument("name", metavar="TABLE[.COLUMN]")
@click.option(
    "--up", type=_LEVELS, default=1, show_default=True, help="How many levels of sources."
)
@click.option(
    "--down", type=_LEVELS, default=1, show_default=True, help="How many levels of targets."
)
@click.option("--dot", "form", flag_value="dot", help="Write a graph that Graphviz draws.")
@click.option("--svg", "form", flag_value="svg", help="Draw a graph that a browser shows.")
@click.option("--graphml", "form", flag_value="graphml", help="Write a graph as GraphML.")
@click.option("--cypher", "form", flag_value="cypher", help="Write statements for Neo4j.")
@JSON_OPTION
@upkeep_options
def show(name: str, up: int, down: int, form: str | None, as_json: bool, access: Access) -> None:
    """Show where a table or column comes from, and what comes from it, nearest first.

    Lineage is that of statements that were executed and committed. A file is named by its path.
    With --json each line is {"level", "direction", "source", "target", "type", "subtype",
    "statement", ..}. The edges of --svg lead to their statements.

    \b
    Examples:
      palimpsest lineage show hr.report
      palimpsest lineage show hr.report.total --up 3 --down 2
      palimpsest lineage show hr.report --up 5 --svg > report.svg
      palimpsest lineage show report.csv --json
    """
    if as_json and form is not None:
        raise click.UsageError(f"give --json or --{form}, not both")
    with _asking(access, as_json=as_json) as connection, exit_on_error(as_json=as_json):
        found = connection.client_session.perform(lineage_around, name, up, down)
        if form is not None:
            click.echo(GRAPHS[form](graph_of_edges((*found.up, *found.down))), nl=False)
            return
        if as_json:
            for direction, edges in (("up", found.up), ("down", found.down)):
                for edge in edges:
                    click.echo(json_text({"direction": direction, **json_edge(edge)}))
            return
        shown = found.table if found.column is None else f"{found.table}.{found.column}"
        click.echo(shown)
        for title, edges, downstream in (
            ("comes from", found.up, False),
            ("goes to", found.down, True),
        ):
            click.echo(f"  {title}{'' if edges else ' nothing that is known'}")
            for line in edge_lines(edges, downstream=downstream):
                click.echo(f"    {line}")


@click.command("impact")
@click.argument("name", metavar="TABLE[.COLUMN]")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything comes from it.")
@JSON_OPTION
@upkeep_options
def impact(name: str, exit_code: bool, as_json: bool, access: Access) -> None:
    """Show all tables, views and files that come from a table or column, however far.

    The column direct says yes where values flow, and no where a column only decides, as a condition
    does.

    \b
    Examples:
      palimpsest lineage impact hr.people.mail
      palimpsest lineage impact hr.people --json
      palimpsest lineage impact hr.people.mail --exit-code
    """
    with _asking(access, as_json=as_json) as connection, exit_on_error(as_json=as_json):
        found = connection.client_session.perform(lineage_around, name, 0, LEVELS_MAX)
        rows = affected_tables(found)
        if as_json:
            for level, table, columns, direct in rows:
                line = {"level": level, "table": table, "columns": columns, "direct": direct}
                click.echo(json_text(line))
        elif rows:
            told = [(n, t, ", ".join(c), "yes" if d else "no") for n, t, c, d in rows]
            write_table(
                ShownResult("IMPACT", len(told), _IMPACT, iter(told)),
                *(sys.stdout, style_for(sys.stdout)),
            )
        else:
            click.echo(f"nothing that is known comes from {name}")
    if exit_code and rows:
        sys.exit(1)


@click.command("path")
@click.argument("start")
@click.argument("end")
@JSON_OPTION
@upkeep_options
def path(start: str, end: str, as_json: bool, access: Access) -> None:
    """Show a shortest way on which END comes from START: tables, columns or files.

    The command exits with 1 if there is none.

    \b
    Examples:
      palimpsest lineage path hr.people hr.report
      palimpsest lineage path hr.people.pay hr.report.total --json
    """
    with _asking(access, as_json=as_json) as connection, exit_on_error(as_json=as_json):
        edges = connection.client_session.perform(lineage_path, start, end)
        for edge in edges:
            click.echo(json_text(json_edge(edge)) if as_json else edge_line(edge))
        if not edges and not as_json:
            click.echo(f"{end} does not come from {start}, as far as is known")
    if not edges:
        sys.exit(1)


@click.command("diff")
@EARLIER_OPTION
@LATER_OPTION
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@JSON_OPTION
@upkeep_options
def diff(since: str, until: str | None, exit_code: bool, as_json: bool, access: Access) -> None:
    """Show which edges of lineage came (+) and ceased (-) between two points in time.

    An edge ceases when its table or column is dropped, or when its view gets another query.

    \b
    Examples:
      palimpsest lineage diff --from '2024-05-01 12:00'
      palimpsest lineage diff --from 1714564800000000 --to 1714651200000000 --json
      palimpsest lineage diff --from 'now() - INTERVAL 1 DAY' --exit-code
    """
    own = replace(access, dialect="duckdb")
    with _asking(own, as_json=as_json) as connection, exit_on_error(as_json=as_json):
        first = _version(connection, since, access.dialect)
        last = None if until is None else _version(connection, until, access.dialect)
        came, ceased = connection.client_session.perform(lineage_changes, first, last)
        for sign, edges in (("+", came), ("-", ceased)):
            for line in change_lines(sign, edges, as_json=as_json):
                click.echo(line)
    if exit_code and (came or ceased):
        sys.exit(1)


@contextmanager
def _asking(access: Access, *, as_json: bool) -> Iterator[Connection]:
    with open_connection(access, "lineage", as_json=as_json) as connection:
        yield connection


def _version(connection: Connection, point: str, dialect: str) -> Version:
    """The version of a point in time, as ``--as-of`` takes it; raises TIME_POINT for no such."""
    given = point_expression(point, dialect)
    if isinstance(given, exp.Literal) and not given.is_string:
        return int(given.name)
    moment = exp.select(exp.TryCast(this=given, to=exp.DataType.build("TIMESTAMPTZ")))
    ((found,),) = connection.execute(moment.sql(dialect="duckdb")).fetchall()
    if found is None:
        raise PalimpsestError(
            Code.TIME_POINT,
            f"{point} is not a point in time",
            advice="give a timestamp, or a version number from system.transactions",
        )
    return from_datetime(found)


COMMANDS = (show, impact, path, diff)
