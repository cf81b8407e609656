"""The file of a COPY: which it is, what it fills, and the call that reads it as its options say.

Columns are filled by their places, but from JSON by their names, as in DuckDB. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, fold
from rewriter.definitions.generated_values import writable_columns
from rewriter.name_resolution import position_of
from rewriter.writing.copy_options import FORCE_NOT_NULL, READ, Options, format_of, known_options

_DATED = {"dateformat": "DATE", "timestampformat": "TIMESTAMP"}
"""Options that give a form of values, and the types of columns that have it."""
_LENIENT = frozenset({"ignore_errors", "store_rejects", "null_padding", "strict_mode", "comment"})
"""Options under which rows of other widths are taken, or left out on purpose."""
_FUNCTIONS = {"csv": "read_csv", "parquet": "read_parquet", "json": "read_json"}


def file_of(ast: exp.Copy) -> exp.Literal:
    """The one file that a COPY names; raises NOT_SUPPORTED for a stream or several."""
    files = ast.args.get("files") or []
    if len(files) == 1 and isinstance(files[0], exp.Literal) and files[0].is_string:
        return files[0]
    named = files[0].name.upper() if len(files) == 1 else ""
    if named in {"STDIN", "STDOUT", "PROGRAM"}:
        raise _refusal(
            f"COPY with {named} is not supported",
            "use cursor.copy, the shell, or `palimpsest query`, which have streams; or name a file",
            ast,
        )
    raise _refusal("COPY needs one named file", "write COPY t FROM 'file' or COPY t TO 'file'", ast)


def target_columns(ast: exp.Copy, table: Table) -> list[Column]:
    """The columns that it names, or all that can be given values; unknown ones are left out."""
    if not isinstance(ast.this, exp.Schema):
        return writable_columns(table.columns)
    return [c for c in (table.find(n.name) for n in ast.this.expressions) if c is not None]


def file_rows(ast: exp.Copy, options: Options, columns: Sequence[Column]) -> exp.Func:
    """The call that reads the file of a COPY .. FROM into ``columns``.

    All values of a CSV file are texts but for dates in a form that is given, as are those of JSON
    but for nested ones.
    """
    file = file_of(ast)
    form = format_of(file.name, options, ast)
    given = known_options(options, READ[form], form, ast)
    arguments: list[exp.Expr] = [file.copy()]
    if form == "csv":
        # Neither kinds of values nor a header are guessed.
        detect = given.pop("auto_detect", exp.true())
        arguments.append(_named_argument("header", given.pop("header", exp.false())))
        arguments.append(_named_argument("all_varchar", exp.true()))
        quoted = given.pop("allow_quoted_nulls", exp.false())
        arguments.append(_named_argument("allow_quoted_nulls", quoted))
        is_told = isinstance(detect, exp.Boolean) and not detect.this
        if columns and is_told and not _DATED.keys() & given.keys():
            arguments.append(_named_argument("auto_detect", exp.false()))
            arguments.append(_named_argument("columns", _struct_of(columns, lambda _: "VARCHAR")))
        elif not _LENIENT & given.keys():
            # Else DuckDB would leave out what it does not understand before the first row.
            given.setdefault("skip", exp.Literal.number(0))
        if FORCE_NOT_NULL in given:
            arguments += _never_null(given.pop(FORCE_NOT_NULL), columns, ast)
        arguments += [_named_argument(name, value) for name, value in given.items()]
        kinds = _dated_types(given, columns)
        if kinds:
            arguments.append(_named_argument("types", exp.Array(expressions=kinds)))
    if form == "json" and columns:
        arguments.append(_named_argument("columns", _struct_of(columns, _json_type)))
    return exp.Anonymous(this=_FUNCTIONS[form], expressions=arguments)


def _never_null(named: exp.Expr, columns: Sequence[Column], ast: exp.Copy) -> Iterator[exp.Expr]:
    """The arguments for columns in which no text is NULL, by the names of the table."""
    by_name = {fold(c.name): exp.Literal.string(c.name) for c in columns}
    found = [fold(part.name) for part in named.expressions]
    if not found or not set(found) <= by_name.keys():
        raise _refusal(
            "the COPY option FORCE_NOT_NULL names columns that the COPY fills",
            "write FORCE_NOT_NULL (a, b)",
            ast,
        )
    yield _named_argument("names", exp.Array(expressions=[*by_name.values()]))
    yield _named_argument(FORCE_NOT_NULL, exp.Array(expressions=[by_name[n] for n in found]))


def _dated_types(given: Mapping[str, exp.Expr], columns: Sequence[Column]) -> list[exp.Expr]:
    """The types up to the last column whose values have a form that is given; none without one."""
    dated = {kind for name, kind in _DATED.items() if name in given}
    found = [c.type if c.type in dated else "VARCHAR" for c in columns]
    while found and found[-1] == "VARCHAR":
        found.pop()
    return [exp.Literal.string(kind) for kind in found]


def _struct_of(columns: Sequence[Column], kind: Callable[[Column], str]) -> exp.Struct:
    """The names of columns with their types, as functions that read files take them."""
    pairs = [
        exp.PropertyEQ(this=exp.Literal.string(c.name), expression=exp.Literal.string(kind(c)))
        for c in columns
    ]
    return exp.Struct(expressions=pairs)


def _json_type(column: Column) -> str:
    """The type in which a value of JSON is read; the INSERT converts texts, as those of CSV."""
    found = exp.DataType.build(column.type, dialect="duckdb", udt=True)
    return column.type if found.is_type(*exp.DataType.NESTED_TYPES, exp.DType.JSON) else "VARCHAR"


def skips_suppressed(options: Options, ast: exp.Copy) -> bool | None:
    """Remove the option SUPPRESSED; True if it skips erased rows, None if it is missing."""
    if "suppressed" not in options:
        return None
    value = options.pop("suppressed")
    word = "" if value is None else value.name.lower()
    if word not in {"refuse", "skip"}:
        raise _refusal("the COPY option SUPPRESSED is refuse or skip", "SUPPRESSED skip", ast)
    return word == "skip"


def _named_argument(name: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value.copy())


def _refusal(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node))
