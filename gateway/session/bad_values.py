"""Adds file, line and column to errors of values that a COPY cannot load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from gateway.session.copies.copy_targets import copied_table
from journal.local_engine.csv_errors import BadValue, first_bad_value, width_of
from journal.model.errors import OF_VALUES, Code, PalimpsestError
from journal.model.places import local_path
from journal.model.schema import CatalogSnapshot
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed
from rewriter.writing.copy_files import target_columns
from rewriter.writing.copy_options import OF_REJECTS, READ, format_of, given_options, known_options
from rewriter.writing.copy_texts import take_postgres_texts

STREAM_PREFIX = "palimpsest-copy-"
"""How the names of files begin that hold what came by STDIN."""
_OF_WIDTH = frozenset({Code.BIND, Code.COLUMN_COUNT})
"""What stores say of a file that has more or fewer columns than are to be filled."""
_WRONG_WIDTH = "Expected Number of Columns"
"""What the reader says of a line that has."""


@contextmanager
def naming_bad_values(
    parsed: Parsed, catalog: CatalogSnapshot, path: Sequence[str]
) -> Iterator[None]:
    """Let errors about values that leave the block say where in the file of a COPY they are."""
    try:
        yield
    except PalimpsestError as error:
        statement = parsed.statement
        ast = statement.ast if isinstance(statement, SqlStatement) else None
        if error.code not in OF_VALUES | _OF_WIDTH or not isinstance(ast, exp.Copy):
            raise
        found = _with_place(error, ast, catalog, path)
        if found is None:
            raise
        raise found from error


def _with_place(
    error: PalimpsestError, ast: exp.Copy, catalog: CatalogSnapshot, path: Sequence[str]
) -> PalimpsestError | None:
    files = ast.args.get("files") or []
    table = copied_table(ast, catalog, path)
    if len(files) != 1 or table is None:
        return None
    options = given_options(ast)
    if format_of(files[0].name, options, ast) != "csv":
        return None
    for name in ("suppressed", *OF_REJECTS):
        options.pop(name, None)
    filled = target_columns(ast, table)
    foreign = take_postgres_texts(options, filled).foreign
    known = known_options(options, READ["csv"], "csv", ast)
    said = {name: _value(v) for name, v in known.items() if name != "auto_detect"}
    said = {"header": False, "allow_quoted_nulls": False, **said}
    place = str(local_path(files[0].name).absolute())
    # DuckDB reads bytes in hexadecimal digits as other bytes, and finds nothing wrong with them.
    types = ["VARCHAR" if n in foreign else c.type for n, c in enumerate(filled)]
    columns = [(c.name, kind) for c, kind in zip(filled, types, strict=True)]
    name = Path(place).name
    shown = "STDIN" if name.startswith(STREAM_PREFIX) else files[0].name
    if error.code in _OF_WIDTH or _WRONG_WIDTH in error.message:
        return _of_width(place, shown, said, [name for name, _ in columns])
    found = first_bad_value(place, said, columns)
    if found is None:
        return None
    return PalimpsestError(
        error.code,
        _message(shown, found),
        advice="correct the value, and load the file again; nothing was loaded",
    )


def _value(option: exp.Expr) -> object:
    """The value of an option; of names of columns these."""
    is_listed = isinstance(option, exp.Tuple)
    return [name.name for name in option.expressions] if is_listed else option.to_py()


def _of_width(
    place: str, shown: str, said: Mapping[str, object], names: Sequence[str]
) -> PalimpsestError | None:
    found = first_bad_value(place, said, [(name, "VARCHAR") for name in names])
    width = width_of(place, said)
    if found is not None:
        message = _message(shown, found)
    elif width not in (None, len(names)):
        message = f"the columns of {shown} are {width}, and those to be filled {len(names)}: "
        message += ", ".join(names)
    else:
        return None
    advice = "name the columns that the file has, COPY t (a, b) FROM .., or correct the file"
    return PalimpsestError(Code.COLUMN_COUNT, message, advice=advice)


def _message(shown: str, found: BadValue) -> str:
    where = f"{shown}, line {found.line}"
    if found.column:
        where += f", column {found.column}"
    return f"{where}: {found.message}"
