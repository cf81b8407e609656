"""Errors of a COPY that name the file, the line and the column of the value they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from journal.local_engine.csv_errors import first_bad_value
from journal.model.errors import Code, PalimpsestError
from journal.model.places import local_path
from journal.model.schema import CatalogSnapshot, Table, TableName
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed
from rewriter.writing.copy_options import READ, format_of, given_options, known_options

STREAM_PREFIX = "palimpsest-copy-"
"""How the names of files begin that hold what came by STDIN."""
_OF_VALUES = frozenset({Code.CONVERSION, Code.OUT_OF_RANGE, Code.DATA})


@contextmanager
def naming_bad_values(parsed: Parsed, catalog: CatalogSnapshot, schema: str) -> Iterator[None]:
    """Let errors about values that leave the block say where in the file of a COPY they are."""
    try:
        yield
    except PalimpsestError as error:
        statement = parsed.statement
        ast = statement.ast if isinstance(statement, SqlStatement) else None
        if error.code not in _OF_VALUES or not isinstance(ast, exp.Copy):
            raise
        found = _with_place(error, ast, catalog, schema)
        if found is None:
            raise
        raise found from error


def _with_place(
    error: PalimpsestError, ast: exp.Copy, catalog: CatalogSnapshot, schema: str
) -> PalimpsestError | None:
    files = ast.args.get("files") or []
    target = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    if len(files) != 1 or not isinstance(target, exp.Table):
        return None
    table = catalog.get(TableName(target.db or schema, target.name))
    options = given_options(ast)
    if not isinstance(table, Table) or format_of(files[0].name, options, ast) != "csv":
        return None
    options.pop("suppressed", None)
    said = {name: v.to_py() for name, v in known_options(options, READ["csv"], "csv", ast).items()}
    said = {"header": False, "allow_quoted_nulls": False, **said}
    named = [c.name for c in getattr(ast.this, "expressions", [])]
    columns = [c for c in map(table.find, named) if c is not None] if named else table.columns
    path = str(local_path(files[0].name).absolute())
    found = first_bad_value(path, said, [(c.name, c.type) for c in columns])
    if found is None:
        return None
    name = Path(path).name
    shown = "STDIN" if name.startswith(STREAM_PREFIX) else files[0].name
    message = f"{shown}, line {found.line}, column {found.column}: {found.message}"
    return PalimpsestError(
        error.code, message, advice="correct the value, and load the file again; nothing was loaded"
    )
