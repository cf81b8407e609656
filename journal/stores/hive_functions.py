"""Functions of the canonical dialect that Spark has under another name or form. Pure."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.relations import ident
from journal.stores.calls import Calls, Change, refused, template

_RENAMED = {
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
    "list_transform": "transform",
    "unnest": "explode",
}
"""Functions that take the same arguments under another name."""


_refused = partial(refused, "Hive")
_template = partial(template, "spark")


def _field(node: exp.Expr) -> exp.Expr | None:
    """A field of a struct goes by its name alone."""
    value, name = node.expressions
    return exp.Dot(this=value, expression=ident(name.name)) if name.is_string else None


def _trimmed(node: exp.Expr) -> exp.Expr | None:
    """Spark's function takes the blanks first, so the clause is written."""
    if len(node.expressions) != 2:
        return None
    value, blanks = node.expressions
    return exp.Trim(this=value, expression=blanks, position="BOTH")


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
    "struct_extract": _field,
    "trim": _trimmed,
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

CALLS = Calls(_RENAMED, _BY_NAME, _BY_CLASS)
