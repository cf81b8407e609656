"""``palimpsest lineage``: of executed statements, and of scripts that need no store."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from gateway.commands.failure import exit_on_error
from gateway.commands.lineage_catalog import COMMANDS
from gateway.commands.lineage_forms import (
    GRAPHS,
    ScriptStatement,
    graph_of,
    json_lines,
    openlineage_lines,
    text_lines,
)
from gateway.commands.lineage_import import import_command
from rewriter.lineage.scripts import trace_script
from rewriter.lineage.tables import KnownTables

_FILES = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.group("lineage")
def command() -> None:
    """Show from which columns statements derive the columns that they write.

    \b
    Examples:
      palimpsest lineage show hr.report --up 3
      palimpsest lineage impact hr.people.mail
      palimpsest lineage analyze nightly.sql --schema tables.sql
      palimpsest lineage analyze etl/ --dialect hive --schema ddl.sql --json
    """


for _asked in (*COMMANDS, import_command):
    command.add_command(_asked)


@command.command("analyze")
@click.argument("scripts", nargs=-1, required=True, type=_FILES)
@click.option(
    "-d",
    "--dialect",
    default="duckdb",
    show_default=True,
    help="The SQL of the scripts and of --schema: any dialect that sqlglot reads.",
)
@click.option(
    "--schema",
    "schemas",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of CREATE statements that describes tables and views; may be given again.",
)
@click.option(
    "--default-schema",
    default="",
    metavar="NAME",
    help="The schema of names without one; default: such names stay as they are.",
)
@click.option(
    "--expand-views", is_flag=True, help="Name the tables that a view reads, not the view."
)
@click.option("--json", "form", flag_value="json", help="Write one JSON object per column.")
@click.option("--dot", "form", flag_value="dot", help="Write a graph that Graphviz draws.")
@click.option("--svg", "form", flag_value="svg", help="Draw a graph that a browser shows.")
@click.option("--graphml", "form", flag_value="graphml", help="Write a graph as GraphML.")
@click.option("--cypher", "form", flag_value="cypher", help="Write statements for Neo4j.")
@click.option(
    "--openlineage",
    "form",
    flag_value="openlineage",
    help="Write one run event of OpenLineage per statement, as a line of JSON.",
)
@click.option(
    "--namespace",
    default="palimpsest",
    show_default=True,
    metavar="NAME",
    help="The namespace of tables and jobs in --openlineage.",
)
def analyze(
    scripts: tuple[Path, ...],
    dialect: str,
    schemas: tuple[Path, ...],
    default_schema: str,
    expand_views: bool,
    form: str | None,
    namespace: str,
) -> None:
    """Read SCRIPTS, files of SQL or folders of *.sql and *.hql, and show what writes what.

    No statement is run. Each script begins with the tables of --schema, and knows what it has
    created itself. A statement that cannot be followed is shown as unknown, with the reason. The
    command exits with 1 if there was such a statement.

    With --json each line is {"file", "statement", "line", "target": {"table", "column"}, "sources":
    [{"table", "column", "type", "subtype"}]}, with "unknown" where the sources cannot be told.
    Types and subtypes are those of OpenLineage: DIRECT sources give the value, INDIRECT ones decide
    about it (JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL).

    --dot, --svg, --graphml and --cypher show all statements as one graph. Edges of the drawing lead
    to their statements below it.

    \b
    Examples:
      palimpsest lineage analyze nightly.sql --schema tables.sql
      palimpsest lineage analyze etl/ --dialect hive --schema ddl.sql --json
      palimpsest lineage analyze report.sql --expand-views --svg > report.svg
      palimpsest lineage analyze etl/ --dialect spark --openlineage --namespace hive://lake:9083
    """
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    _check_dialect(dialect)
    known = KnownTables(dialect, default_schema.lower(), expand_views)
    for schema in schemas:
        for _ in trace_script(_text(schema), known):
            pass
    has_unknown = False

    def statements() -> Iterator[ScriptStatement]:
        nonlocal has_unknown
        for statement in _traced(scripts, known):
            has_unknown = has_unknown or statement.is_unknown
            yield statement

    with exit_on_error():
        if form in GRAPHS:
            click.echo(GRAPHS[form](graph_of(statements())), nl=False)
        else:
            lines = _line_writer(form, dialect, namespace)
            for statement in statements():
                for line in lines(statement):
                    click.echo(line)
    sys.exit(1 if has_unknown else 0)


def _line_writer(
    form: str | None, dialect: str, namespace: str
) -> Callable[[ScriptStatement], Iterator[str]]:
    if form == "openlineage":
        return openlineage_lines(dialect, namespace)
    return json_lines if form == "json" else text_lines


def _check_dialect(dialect: str) -> None:
    from sqlglot.dialects.dialect import Dialect, Dialects

    if dialect and Dialect.get(dialect) is None:
        names = ", ".join(sorted(d.value for d in Dialects if d.value))
        raise click.BadParameter(f"{dialect} is no dialect; use one of {names}")


def _traced(scripts: Sequence[Path], known: KnownTables) -> Iterator[ScriptStatement]:
    for script in scripts:
        files = [script]
        if script.is_dir():
            files = sorted(p for p in script.rglob("*") if p.suffix in {".sql", ".hql", ".q"})
        for file in files:
            for traced in trace_script(_text(file), known.copy()):
                yield ScriptStatement(str(file), traced)


def _text(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    return file.read_text(encoding="utf-8", errors="replace")
