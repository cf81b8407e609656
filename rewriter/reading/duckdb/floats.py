"""Numbers with a floating point as exact numbers, as DuckDB makes them, on PostgreSQL. Pure.

    d::DECIMAL(10, 2)     the digits of the DOUBLE times 100, rounded
    d::HUGEINT            its nearest whole number, halves to the even one
    d::BIGNUM             what is before its point
    sum(f)                of FLOATs a DOUBLE
    f = 0.1               compared as FLOATs

PostgreSQL's own casts keep 15 digits of a DOUBLE and 6 of a FLOAT, its sum of FLOATs is one, and it
compares a FLOAT as a DOUBLE, which 0.1 is not.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call
from rewriter.reading.duckdb.types import FLOATS, DuckDBTypes
from rewriter.reading.value_types import KIND

_SCALE_DEFAULT = 3
"""Of a DECIMAL without digits, which is DECIMAL(18, 3)."""
COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Nullif, exp.Case),
)
_EXACT = frozenset({"DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_NARROW = FLOATS - {"DOUBLE"}
_NAMES = {exp.DType.INT128: "nearest", exp.DType.BIGNUM: "before_point"}


def exact_of(value: exp.Expr, to: exp.DataType, types: DuckDBTypes) -> exp.Expr | None:
    """The exact number that a DOUBLE or FLOAT is as a type, before it is cast to that type."""
    if to.this not in {*_NAMES, exp.DType.DECIMAL} or types.kind_of(value) not in FLOATS:
        return None
    if to.this is not exp.DType.DECIMAL:
        made = call(_NAMES[to.this], value)
    else:
        digits = [part.this for part in to.expressions if isinstance(part, exp.DataTypeParam)]
        places = int(digits[1].name) if len(digits) > 1 else 0 if digits else _SCALE_DEFAULT
        made = call("scaled", value, exp.Literal.number(places))
    made.meta[KIND] = "DECIMAL"
    return made


def sum_of(node: exp.Sum, types: DuckDBTypes) -> exp.Expr | None:
    """The sum of FLOATs."""
    inner = node.this
    distinct = isinstance(inner, exp.Distinct) and len(inner.expressions) == 1
    value = inner.expressions[0] if distinct else inner
    if types.kind_of(value) not in _NARROW:
        return None
    wide: exp.Expr = exp.cast(value.copy(), "DOUBLE")
    return exp.Sum(this=exp.Distinct(expressions=[wide]) if distinct else wide)


def narrow_sides(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A sum or product of a FLOAT and an exact number, which PostgreSQL makes a DOUBLE of."""
    if types.kind_of(node) != "FLOAT":
        return None
    made = node.copy()
    for name in ("this", "expression"):
        if types.kind_of(node.args[name]) not in _NARROW:
            made.set(name, exp.cast(made.args[name], "FLOAT"))
    return None if made == node else made


def compared(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A comparison of a FLOAT with an exact number."""
    sets = isinstance(node.parent, exp.Update | exp.OnConflict) and node.arg_key == "expressions"
    if sets or (isinstance(node, exp.Case) and not node.this):
        return None
    kinds = [types.kind_of(value) for value in compared_values(node)]
    if not _NARROW & {*kinds} or not {*kinds} <= _NARROW | _EXACT:
        return None
    made = node.copy()
    changed = False
    for value, kind in zip(compared_values(made), kinds, strict=True):
        if kind not in _NARROW or isinstance(value.unnest(), exp.Binary):
            value.replace(exp.cast(value.copy(), "FLOAT"))
            changed = True
    return made if changed else None


def compared_values(node: exp.Expr) -> list[exp.Expr]:
    """The values that are compared with each other."""
    if isinstance(node, exp.Case):
        others = [part.this for part in node.args["ifs"]]
    elif isinstance(node, exp.Between):
        others = [node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        inner = query.unnest() if isinstance(query, exp.Expr) else None
        is_one = isinstance(inner, exp.Select) and len(inner.expressions) == 1
        others = [inner.expressions[0].unalias()] if inner and is_one else node.expressions
    elif isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        others = node.expressions
    else:
        others = [node.expression]
    return [value for value in (node.this, *others) if not isinstance(value, exp.Null)]
