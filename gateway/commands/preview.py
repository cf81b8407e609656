"""``palimpsest preview``: show the plan of a statement; this needs no store."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TextIO

import click

from gateway.commands.connecting import (
    DIALECT_OPTION,
    JSON_OPTION,
    WAREHOUSE_OPTION,
    Access,
    open_connection,
)
from gateway.commands.failure import exit_on_error
from gateway.commands.query import statement_text
from gateway.shell.previewing import as_object, preview_lines, preview_on, write_sql
from gateway.shell.splitting import SplitStatement, split_statements
from journal.model.schema import CatalogSnapshot
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import (
    Assumptions,
    Preview,
    parse_one,
    without_store,
)
from rewriter.preview.synthetic_catalog import catalog_of, keyed_catalog
from rewriter.syntax.parsing import parse


@click.command("preview")
@click.argument("sql", required=False)
@click.option("-f", "--file", type=click.File("r"), help="Take the statements from a file.")
@click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of CREATE TABLE statements that describes the tables; no store needed.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="TABLE=COL,..",
    help="A table by the name of its key alone; no store needed.",
)
@click.option(
    "--layout",
    type=click.Choice(["tiered", "flat"]),
    default="tiered",
    show_default=True,
    help="Without a store: ours, or classic journal tables that PostgreSQL has adopted.",
)
@click.option(
    "--uncompacted",
    is_flag=True,
    help="Without a store: suppose changes that no compaction has merged yet.",
)
@click.option(
    "--to",
    "output",
    type=click.Choice(list(DIALECTS)),
    help="The dialect of the rewritten SQL. Default: as it runs, which is Spark's or Hive's SQL on"
    " their stores, and duckdb elsewhere.",
)
@DIALECT_OPTION
@JSON_OPTION
@WAREHOUSE_OPTION
def command(
    sql: str | None,
    file: TextIO | None,
    schema: Path | None,
    keys: tuple[str, ...],
    layout: str,
    uncompacted: bool,
    output: str | None,
    dialect: str,
    as_json: bool,
    warehouse: str,
) -> None:
    """Show the SQL that a statement is rewritten to, step by step. It runs nothing.

    The tables are those of the warehouse, or those that --schema or --key describe, which needs no
    warehouse. The command also shows the tables that the statement reads and writes, the shape
    through which it reads current rows and why, and the parameters.

    \b
    Examples:
      palimpsest preview "UPDATE hr.depts SET name = 'R&D' WHERE deptno = 10"
      palimpsest preview "SELECT * FROM depts" --schema tables.sql --uncompacted
      palimpsest preview "DELETE FROM depts WHERE deptno = 1" --key depts=deptno --layout flat
      palimpsest preview "SELECT count(*) FROM t" --key t=id --to spark --json
    """
    pieces = split_statements(statement_text(sql, file), dialect)
    if not pieces:
        raise click.UsageError("there is no statement")
    alone = schema is not None or bool(keys)
    if not alone and (layout == "flat" or uncompacted):
        raise click.UsageError("--layout flat and --uncompacted need --schema or --key")
    if alone:
        with exit_on_error(as_json=as_json):
            described = _read_catalog(schema, dialect)
        wanted = _keys_by_table(keys)
        for piece in pieces:
            with exit_on_error(piece, as_json=as_json):
                parsed = parse_one(piece.text, dialect)
                catalog, notes = keyed_catalog(wanted, parsed, described)
                assumed = Assumptions(catalog, uncompacted, layout == "flat", notes)
                _write_preview(without_store(parsed, assumed, dialect, output or "duckdb"), as_json)
        return
    access = Access(warehouse, dialect)
    with open_connection(access, "preview", as_json=as_json) as connection:
        for piece in pieces:
            with exit_on_error(piece, as_json=as_json):
                _write_preview(preview_on(connection, piece.text, output), as_json)


def _read_catalog(schema: Path | None, dialect: str) -> CatalogSnapshot:
    if schema is None:
        return CatalogSnapshot.empty()
    text = schema.read_text(encoding="utf-8")
    with exit_on_error(SplitStatement(text, 0, 0, complete=True)):
        return catalog_of(parse(text, dialect, DEFAULT_LIMITS), dialect)


def _keys_by_table(given: tuple[str, ...]) -> dict[str, list[str]]:
    keys = {}
    for pair in given:
        table, equals, columns = pair.partition("=")
        names = [c.strip() for c in columns.split(",") if c.strip()]
        if not equals or not table or not names:
            raise click.UsageError(f"--key takes TABLE=COL,.., not {pair}")
        keys[table.strip()] = names
    return keys


def _write_preview(preview: Preview, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(as_object(preview), ensure_ascii=False))
        return
    write_sql("\n".join(preview_lines(preview, original=True)), sys.stdout)
