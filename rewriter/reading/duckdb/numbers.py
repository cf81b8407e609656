"""Arithmetic and functions of numbers of DuckDB's dialect on a PostgreSQL store. Pure.

tinyint + 1           as small as its sides
f + 1, f / 3          of a FLOAT and an exact number a FLOAT
sqrt(-1), exp(1000)   NaN and infinity, where PostgreSQL's own functions fail
FROM range(3)         of BIGINTs
repeat(s, bigint)     its own functions take an INTEGER as a count or a place
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.reading.duckdb.floats import narrow_sides
from rewriter.reading.duckdb.types import FLOATS, DuckDBTypes
from rewriter.reading.value_types import ENUM_TYPE, UNTOLD


def spell_arithmetic(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Of small numbers the result is as small, of HUGEINTs it is one; so the remainder of a DOUBLE.

    Of a FLOAT and a number that is no DOUBLE the result is a FLOAT.
    """
    if isinstance(node.this, exp.Null) and isinstance(node.expression, exp.Null):
        return exp.cast(exp.Null(), "INT")
    kinds = {types.kind_of(side) for side in (node.this, node.expression)}
    if isinstance(node, exp.Mod) and FLOATS & kinds:
        return call("float_remainder", node.this, node.expression)
    kind = types.kind_of(node)
    if kind == "HUGEINT" and not isinstance(node, exp.Mod):
        return call("hugeint", node)
    if kind in kinds and (kind == "TINYINT" or (kind == "SMALLINT" and len(kinds) > 1)):
        return exp.cast(exp.paren(node.copy(), copy=False), kind, dialect="duckdb")
    return narrow_sides(node, types)


def spell_quotient(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A part of an interval is one, and a part of a FLOAT."""
    if node.args.get("typed"):
        return None
    if types.kind_of(node) == "FLOAT":
        return exp.cast(exp.paren(node.copy(), copy=False), "FLOAT")
    if types.kind_of(node.this) != "INTERVAL":
        return None
    made = node.copy()
    made.set("typed", True)
    return made


def spell_whole_quotient(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``//`` of HUGEINTs, cut off as those of all whole numbers."""
    if types.kind_of(node) != "HUGEINT":
        return None
    sides = (exp.cast(side.copy(), "BIGNUM") for side in (node.this, node.expression))
    return call("cut_quotient", *sides)


def spell_shift(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A shift beyond the bits of a number, which PostgreSQL takes for one by fewer of them."""
    kinds = {types.kind_of(side) for side in (node.this, node.expression)}
    if not kinds <= {"INTEGER", "BIGINT"}:
        return None
    name = "left_shift" if isinstance(node, exp.BitwiseLeftShift) else "right_shift"
    return call(name, node.this, node.expression)


def spell_whole(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A DOUBLE, if it is of a HUGEINT."""
    if types.kind_of(node.this) != "HUGEINT" or node.args.get("decimals") is not None:
        return None
    return exp.cast(node.copy(), "DOUBLE")


def spell_rounded(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A FLOAT, if it is of one."""
    return exp.cast(node.copy(), "FLOAT") if types.kind_of(node.this) == "FLOAT" else None


def spell_boundless(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A function that gives NaN or an infinite number where PostgreSQL's own fails."""
    value = node.this.unnest()
    is_fine = isinstance(value, exp.Literal) and not value.is_string
    if is_fine and isinstance(node, exp.Sin | exp.Cos | exp.Tan | exp.Sqrt):
        return None
    if isinstance(node, exp.Ln):
        return call("boundless_log", node.this, "ln")
    if isinstance(node, exp.Log):
        if not isinstance(node.expression, exp.Expr):
            return call("boundless_log", node.this, "10")
        return fill(_LOG, x=node.expression, whole=node)
    return call(f"boundless_{node.key}", node.this)


LOGARITHMS = frozenset({"log2", "log10"})
"""What the parser takes for calls like others."""


def spell_logarithm(node: exp.Expr) -> exp.Expr:
    """The same of such a call."""
    (value,) = node.expressions
    return fill(_LOG, x=value, whole=node)


_LOG = "CASE WHEN x <= 0 THEN boundless_log(x, 'ln') ELSE whole END"


def spell_power(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A DOUBLE without an error for numbers that are too great for one."""
    return call("boundless_power", node.this, node.expression)


COUNTED: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Substring: ("start", "length"),
    exp.Left: ("expression",),
    exp.Right: ("expression",),
    exp.Pad: ("expression",),
    exp.Repeat: ("times",),
    exp.SplitPart: ("part_index",),
    exp.DateFromParts: ("year", "month", "day"),
    exp.Chr: ("expressions",),
    exp.Lag: ("offset",),
    exp.Lead: ("offset",),
    exp.Ntile: ("this",),
    exp.NthValue: ("offset",),
    exp.TimeFromParts: ("hour", "min"),
    exp.TimestampFromParts: ("year", "month", "day", "hour", "min"),
}
"""The counts and places that a function takes."""


def spell_counts(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A function with a count or a place that is a BIGINT; the value where there is no row."""
    made = node.copy()
    default = node.args.get("default")
    if isinstance(default, exp.Expr):
        kind = types.of(node.this).kind or UNTOLD
        if _is_plain(kind) and types.of(default).kind != kind:
            made.set("default", exp.cast(default.copy(), kind, dialect="duckdb"))
    for name in COUNTED[type(node)]:
        given = made.args.get(name)
        for value in given if isinstance(given, list) else [given]:
            if isinstance(value, exp.Expr) and types.kind_of(_original_part(value, node)) in _LARGE:
                value.replace(exp.cast(value.copy(), "INT"))
    return None if made == node else made


def _is_plain(kind: str) -> bool:
    return UNTOLD not in kind and not kind.startswith(ENUM_TYPE)


def _original_part(value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """The part of a tree that a part of its copy was made of, which stands among the sources."""
    assert value.arg_key is not None
    found = node.args[value.arg_key]
    part = found if value.index is None else found[value.index]
    assert isinstance(part, exp.Expr)
    return part


_LARGE = frozenset({"BIGINT", "HUGEINT"})


def spell_series(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A series of BIGINTs, or between two days of moments without a zone."""
    start, end = node.args.get("start"), node.args.get("end")
    kind = types.kind_of(start) if isinstance(start, exp.Expr) else None
    if kind not in _OF_SERIES or end is None:
        return None
    made = node.copy()
    for name in ("start", "end"):
        made.set(name, exp.cast(made.args[name], _OF_SERIES[kind], dialect="duckdb"))
    return made


_OF_SERIES = {
    "DATE": "TIMESTAMP",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER"), "BIGINT"),
}
