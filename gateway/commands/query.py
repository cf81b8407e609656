"""``palimpsest query``: run statements from the command line, a file or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import click

from gateway.commands.connecting import JSON_OPTION, Access, access_options, open_connection
from gateway.commands.failure import exit_on_error
from gateway.commands.progress import show_progress
from gateway.dbapi.connection import Connection
from gateway.shell.copy_streams import copies_in, copies_out, copy_in, copy_out
from gateway.shell.formats import FORMATS, write_envelope, write_result
from gateway.shell.result import ShownResult
from gateway.shell.running import run_cancellable
from gateway.shell.splitting import SplitStatement, split_statements
from gateway.shell.table import style_for

Parameters = list[Any] | dict[str, Any] | None


@click.command("query")
@click.argument("sql", required=False)
@click.option("-f", "--file", type=click.File("r"), help="Take the statements from a file.")
@click.option(
    "-p",
    "--param",
    "values",
    multiple=True,
    metavar="VALUE",
    help="Value of the next ? in the statement; JSON is read as such.",
)
@click.option(
    "-n",
    "--named",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of the parameter $NAME or :NAME.",
)
@click.option(
    "-t",
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Form of the rows. Default: table.",
)
@JSON_OPTION
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the rows to a file.",
)
@click.option(
    "-1",
    "--transaction",
    "together",
    is_flag=True,
    help="Run all statements as one transaction: all of them or none.",
)
@click.option("-q", "--quiet", is_flag=True, help="Write rows only: no counts, no status.")
@access_options
def command(
    sql: str | None,
    file: TextIO | None,
    values: tuple[str, ...],
    named: tuple[str, ...],
    form: str | None,
    as_json: bool,
    output: Path | None,
    together: bool,
    quiet: bool,
    access: Access,
) -> None:
    """Run SQL statements and write their results.

    Statements come from the argument, --file, or standard input, separated by semicolons; each
    commits by itself unless --transaction is given. The first error ends the run.

    With --json each statement writes one line: {"status", "columns", "rows", "row_count"}, rows as
    arrays in the order of the columns.

    \b
    Examples:
      palimpsest query "SELECT * FROM hr.depts"
      palimpsest query "SELECT * FROM hr.depts WHERE deptno = ?" -p 10
      palimpsest query "SELECT * FROM hr.depts" --as-of '2024-05-01 12:00'
      palimpsest query -f load.sql --transaction
      echo "SELECT 42 AS answer" | palimpsest query --format csv
    """
    pieces = split_statements(statement_text(sql, file), access.dialect)
    parameters = _parameters(values, named)
    if parameters is not None and len(pieces) != 1:
        raise click.UsageError("parameters go with one statement; give just one")
    if as_json and form is not None:
        raise click.UsageError("--json and --format exclude each other")
    with (
        open_connection(access, "query", as_json=as_json) as connection,
        _open_output(output) as out,
    ):
        if together:
            connection.autocommit = False
        for piece in pieces:
            with exit_on_error(piece, as_json=as_json):
                _run(connection, piece, parameters, out, form, as_json, quiet)
        if connection.in_transaction and not together:
            connection.rollback()
            click.echo("The transaction was not committed and is rolled back.", err=True)


def _run(
    connection: Connection,
    piece: SplitStatement,
    parameters: Parameters,
    out: TextIO,
    form: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    if copies_in(piece.text):
        said = copy_in(connection, piece.text, sys.stdin)
        if not quiet:
            click.echo(said, err=True)
        return
    if copies_out(piece.text):
        copy_out(connection, piece.text, out)
        return
    cursor = connection.cursor()
    with show_progress("running"):
        run_cancellable(connection, lambda: cursor.execute(piece.text, parameters))
    result = ShownResult.of(cursor, connection)
    style = replace(style_for(out), footer=not quiet)
    if as_json:
        write_envelope(result, out, style)
    else:
        write_result(result, out, form or "table", style)
        for notice in result.notices:
            click.echo(f"NOTICE: {notice}", err=True)
    out.flush()
    cursor.close()


def statement_text(sql: str | None, file: TextIO | None) -> str:
    """The SQL of a command: its argument, a file, or standard input."""
    if sql is not None and file is not None:
        raise click.UsageError("give the SQL either as argument or with --file")
    if file is not None:
        return file.read()
    if sql is not None and sql != "-":
        return sql
    if sys.stdin.isatty() and sql is None:
        raise click.UsageError("give the SQL as argument, with --file, or on standard input")
    return sys.stdin.read()


def _parameters(values: tuple[str, ...], named: tuple[str, ...]) -> Parameters:
    if values and named:
        raise click.UsageError("--param and --named exclude each other")
    if named:
        pairs = [pair.partition("=") for pair in named]
        wrong = next((name for name, equals, _ in pairs if not equals), None)
        if wrong is not None:
            raise click.UsageError(f"--named takes NAME=VALUE, not {wrong}")
        return {name: _value(text) for name, _, text in pairs}
    return [_value(text) for text in values] if values else None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


@contextmanager
def _open_output(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with path.open("w", encoding="utf-8", newline="") as out:
        yield out
