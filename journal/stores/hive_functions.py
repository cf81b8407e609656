"""Functions of the canonical dialect that Spark has under another name or form. Pure."""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp

from journal.errors import Code, PalimpsestError

Change = Callable[[exp.Expr], exp.Expr | None]

RENAMED = {
    "strlen": "octet_length",
    "ucase": "upper",
    "lcase": "lower",
    "gen_random_uuid": "uuid",
    "today": "current_date",
    "error": "raise_error",
    "epoch_us": "unix_micros",
    "epoch_ms": "unix_millis",
    "make_timestamptz": "timestamp_micros",
    "bool_and": "bool_and",
    "list_distinct": "array_distinct",
}
"""Functions that take the same arguments under another name."""


def change_function(node: exp.Expr) -> exp.Expr | None:
    """What stands for a call in Spark; None where the call stays as it is."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        change = _BY_NAME.get(name)
        if change is not None:
            return change(node)
        renamed = RENAMED.get(name)
        if renamed is not None:
            node.set("this", renamed)
        return None
    change = _BY_CLASS.get(type(node))
    return None if change is None else change(node)


def _refused(what: str, advice: str) -> Change:
    def refuse(node: exp.Expr) -> exp.Expr | None:
        raise PalimpsestError(Code.NOT_SUPPORTED, f"a Hive store has no {what}", advice=advice)

    return refuse


def _template(sql: str, *names: str) -> Change:
    """Puts the arguments of a call into a piece of Spark's SQL."""
    pattern = sqlglot.parse_one(sql, read="spark")

    def change(node: exp.Expr) -> exp.Expr | None:
        arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this]
        if len(arguments) != len(names):
            return None
        made = exp.Paren(this=pattern.copy())
        for column in list(made.find_all(exp.Column)):
            column.replace(exp.Paren(this=arguments[names.index(column.name)].copy()))
        return made

    return change


def _divided(node: exp.Expr) -> exp.Expr | None:
    """The canonical division is of doubles, and by zero it is NULL."""
    if node.meta.get("settled"):
        return None
    double = exp.DType.DOUBLE
    zero = exp.Literal.number(0)
    divisor = exp.Nullif(this=node.expression, expression=zero)
    made = exp.Div(
        this=exp.Cast(this=node.this, to=exp.DataType(this=double)),
        expression=exp.Cast(this=divisor, to=exp.DataType(this=double)),
        typed=True,
        safe=True,
    )
    made.meta["settled"] = True
    return exp.Paren(this=made)


def _null_for_zero(kind: type[exp.Binary]) -> Change:
    def change(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node.expression, exp.Nullif):
            return None
        divisor = exp.Nullif(this=node.expression, expression=exp.Literal.number(0))
        return kind(this=node.this, expression=divisor)

    return change


_FILES = _refused("files to read", "load the file with COPY .. FROM")
_BY_NAME: dict[str, Change] = {
    "read_parquet": _FILES,
    "read_csv": _FILES,
    "read_csv_auto": _FILES,
    "read_json": _FILES,
    "read_json_auto": _FILES,
    "fdiv": _template("CAST(x AS DOUBLE) / CAST(y AS DOUBLE)", "x", "y"),
}
_BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Div: _divided,
    exp.IntDiv: _null_for_zero(exp.IntDiv),
    exp.Mod: _null_for_zero(exp.Mod),
    exp.ReadCSV: _FILES,
    exp.ReadParquet: _FILES,
    exp.Glob: _refused("GLOB", "use LIKE or a regular expression"),
    exp.Columns: _refused("COLUMNS(..)", "name the columns"),
}
