"""``palimpsest lineage``: where the columns come from that scripts write; this needs no store."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rewriter.lineage.graph import dot_lines
from rewriter.lineage.scripts import TracedStatement, trace_script
from rewriter.lineage.sources import DIRECT, ColumnSource
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import ColumnTarget

_FILES = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.group("lineage")
def command() -> None:
    """Show where the columns come from that statements write.

    \b
    Examples:
      palimpsest lineage analyze nightly.sql --schema tables.sql
      palimpsest lineage analyze etl/ --dialect hive --schema ddl.sql --json
    """


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
def analyze(
    scripts: tuple[Path, ...],
    dialect: str,
    schemas: tuple[Path, ...],
    default_schema: str,
    expand_views: bool,
    form: str | None,
) -> None:
    """Read SCRIPTS, files of SQL or folders of *.sql and *.hql, and show what writes what.

    No statement is run. Each script begins with the tables of --schema, and knows what it has
    created itself. A statement that cannot be followed is shown as unknown, with the reason. The
    command exits with 1 if there was such a statement.

    With --json each line is {"file", "statement", "line", "target": {"table", "column"}, "sources":
    [{"table", "column", "type", "subtype"}]}, with "unknown" where the sources cannot be told.
    Types and subtypes are those of OpenLineage: DIRECT sources give the value, INDIRECT ones decide
    about it (JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL).

    \b
    Examples:
      palimpsest lineage analyze nightly.sql --schema tables.sql
      palimpsest lineage analyze etl/ --dialect hive --schema ddl.sql --json
      palimpsest lineage analyze report.sql --expand-views --dot | dot -Tsvg > report.svg
    """
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    _check_dialect(dialect)
    known = KnownTables(dialect, default_schema.lower(), expand_views)
    for schema in schemas:
        for _ in trace_script(_text(schema), known):
            pass
    traced = _traced(scripts, known)
    if form == "dot":
        found = list(traced)
        click.echo("\n".join(dot_lines([t for _, one in found for t in one.targets])))
        has_unknown = any(_is_unknown(one) for _, one in found)
    else:
        has_unknown = False
        write = _json_lines if form == "json" else _plain_lines
        for file, one in traced:
            has_unknown = has_unknown or _is_unknown(one)
            for line in write(file, one):
                click.echo(line)
    sys.exit(1 if has_unknown else 0)


def _check_dialect(dialect: str) -> None:
    from sqlglot.dialects.dialect import Dialect, Dialects

    if dialect and Dialect.get(dialect) is None:
        names = ", ".join(sorted(d.value for d in Dialects if d.value))
        raise click.BadParameter(f"{dialect} is no dialect; use one of {names}")


def _traced(scripts: Sequence[Path], known: KnownTables) -> Iterator[tuple[str, TracedStatement]]:
    for script in scripts:
        files = [script]
        if script.is_dir():
            files = sorted(p for p in script.rglob("*") if p.suffix in {".sql", ".hql", ".q"})
        for file in files:
            for traced in trace_script(_text(file), known.copy()):
                yield str(file), traced


def _text(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    return file.read_text(encoding="utf-8", errors="replace")


def _is_unknown(traced: TracedStatement) -> bool:
    return traced.unknown is not None or any(t.unknown is not None for t in traced.targets)


def _json_lines(file: str, traced: TracedStatement) -> Iterator[str]:
    place: dict[str, Any] = {"file": file, "statement": traced.number, "line": traced.line}
    if traced.unknown is not None:
        yield json.dumps({**place, "unknown": traced.unknown}, ensure_ascii=False)
    for target in traced.targets:
        line = {
            **place,
            "target": {"table": target.table, "column": target.column},
            "sources": [_source(source) for source in target.sources],
        }
        if target.unknown is not None:
            line["unknown"] = target.unknown
        yield json.dumps(line, ensure_ascii=False)


def _source(source: ColumnSource) -> dict[str, Any]:
    found: dict[str, Any] = {
        "table": source.table,
        "column": source.column,
        "type": source.kind,
        "subtype": source.subtype,
    }
    if source.masking:
        found["masking"] = True
    return found


def _plain_lines(file: str, traced: TracedStatement) -> Iterator[str]:
    """The values first; what decides about every column of a statement is said once."""
    if traced.unknown is not None:
        yield f"{file}:{traced.line}: unknown: {traced.unknown}"
    shared = _shared(traced.targets)
    for place, target in enumerate(traced.targets):
        if place == 0:
            yield f"{file}:{traced.line}: writes {target.table}"
        own = [s for s in target.sources if s not in shared]
        said = ", ".join(_word(source) for source in own) or "no column"
        unknown = f" (unknown: {target.unknown})" if target.unknown is not None else ""
        yield f"    {target.column} <- {said}{unknown}"
    if shared:
        yield "    rows decided by " + ", ".join(_word(source) for source in sorted(shared))


def _shared(targets: Sequence[ColumnTarget]) -> set[ColumnSource]:
    indirect = [{s for s in t.sources if s.kind != DIRECT} for t in targets]
    return set.intersection(*indirect) if indirect else set()


def _word(source: ColumnSource) -> str:
    how = source.subtype.lower().replace("_", " ")
    masked = ", masked" if source.masking else ""
    return f"{source.table}.{source.column} ({how}{masked})"
