"""COPY t FROM 'file': an INSERT of the rows that a file function reads.

Every field of a CSV file arrives as text and is converted to its column's type, so that nothing is
guessed. COPY .. TO is refused; ``palimpsest export`` writes files.
"""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import StatementPlan
from rewriter.context import RewriteContext
from rewriter.names import position_of
from rewriter.parts import rewrite_parts

_FUNCTIONS = {"csv": "read_csv", "parquet": "read_parquet", "json": "read_json"}
_CSV_OPTIONS = {
    "header": "header",
    "delimiter": "delim",
    "delim": "delim",
    "sep": "delim",
    "quote": "quote",
    "escape": "escape",
    "null": "nullstr",
    "nullstr": "nullstr",
    "skip": "skip",
}


def rewrite_copy(ast: exp.Copy, context: RewriteContext) -> StatementPlan:
    """The plan of a COPY .. FROM."""
    target = ast.this
    if not ast.args.get("kind") or not isinstance(target, exp.Table | exp.Schema):
        raise _refused("COPY .. TO is not supported", "use `palimpsest export`", ast)
    files = ast.args.get("files") or []
    if len(files) != 1 or not isinstance(files[0], exp.Literal) or not files[0].is_string:
        raise _refused("COPY reads one named file", "write COPY t FROM 'file'", ast)
    options = {p.name.lower(): p.args.get("expression") for p in ast.args.get("params") or []}
    rows = exp.select("*").from_(exp.Table(this=_reader(files[0], options, ast)))
    insert = exp.Insert(this=target, expression=rows)
    return rewrite_parts(insert, context)


def _reader(file: exp.Literal, options: dict[str, exp.Expr | None], ast: exp.Copy) -> exp.Expr:
    """The function that reads the file as its format and options say."""
    chosen = options.pop("format", None)
    suffix = file.name.rpartition(".")[2].lower()
    kind = chosen.name.lower() if chosen is not None else suffix
    if kind not in _FUNCTIONS:
        raise _refused(
            f"COPY does not read the format {kind or 'of this file'}",
            "give FORMAT csv, parquet or json",
            ast,
        )
    unknown = [name for name in options if kind != "csv" or name not in _CSV_OPTIONS]
    if unknown:
        raise _refused(
            f"the COPY option {unknown[0].upper()} is not supported",
            "for csv there are " + ", ".join(sorted(_CSV_OPTIONS)),
            ast,
        )
    arguments: list[exp.Expr] = [file.copy()]
    if kind == "csv":
        given = {_CSV_OPTIONS[name]: value for name, value in options.items()}
        header = given.pop("header", exp.false()) if "header" in given else exp.false()
        arguments.append(_named("header", exp.true() if header is None else header))
        arguments.append(_named("all_varchar", exp.true()))
        arguments += [_named(name, value) for name, value in given.items() if value is not None]
    return exp.Anonymous(this=_FUNCTIONS[kind], expressions=arguments)


def _named(name: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value.copy())


def _refused(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node))
