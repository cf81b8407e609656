"""Moments as the canonical dialect cuts them off, and counts what is between them.

    date_trunc('day', x)    =  x + what takes it there, so that no zone comes to a moment without
    date_diff('day', x, y)  =  datediff(DAY, date_trunc('DAY', x), date_trunc('DAY', y))

Spark's date_trunc always gives a moment in a zone; its difference counts whole units, of which
there is none between 23:00 and 1:00 of the next day. Pure.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.calls import refused

_UNITS = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
    *("MILLISECOND", "MICROSECOND"),
)
_BARE = exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
_refuse = partial(refused, "Hive", advice=f"use one of {', '.join(_UNITS).lower()}")


def truncated(node: exp.Expr) -> exp.Expr | None:
    """The beginning of a unit of time, in the type of what is given."""
    if isinstance(node, exp.TimestampTrunc):
        unit: exp.Expr = exp.Literal.string(node.args["unit"].name)
        of = node.this
    elif len(node.expressions) == 2:
        unit, of = node.expressions
    else:
        return None
    cut = exp.Anonymous(this="date_trunc", expressions=[unit.copy(), of.copy()])
    in_zone = exp.EQ(
        this=exp.Anonymous(this="typeof", expressions=[of.copy()]),
        expression=exp.Literal.string("timestamp"),
    )
    bare = [exp.cast(each.copy(), _BARE) for each in (cut, of)]
    way = exp.Case().when(in_zone, exp.Sub(this=cut, expression=exp.Paren(this=of.copy())))
    way = way.else_(exp.Sub(this=bare[0], expression=bare[1]))
    return exp.Paren(this=exp.Add(this=exp.Paren(this=of.copy()), expression=exp.Paren(this=way)))


def difference(node: exp.Expr) -> exp.Expr | None:
    """The boundaries between two moments, of a unit that is written."""
    unit = node.args.get("unit")
    name = "DAY" if unit is None else unit.name.upper()
    name = name if name in _UNITS else name.removesuffix("S")
    if name not in _UNITS:
        return _refuse(f"difference in the unit {name.lower()}")(node)
    return _between(name, node.expression, node.this)


def difference_in(node: exp.Expr) -> exp.Expr | None:
    """The same of a unit that is known only when the query runs."""
    if len(node.expressions) != 3:
        return None
    unit, start, end = node.expressions
    found = exp.Case(this=exp.Lower(this=unit.copy()))
    for name in _UNITS:
        found = found.when(exp.Literal.string(name.lower()), _between(name, start, end))
    wrong = exp.Concat(expressions=[exp.Literal.string("no unit of time: "), unit.copy()])
    return found.else_(exp.Anonymous(this="raise_error", expressions=[wrong]))


def _between(unit: str, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    cut = [
        exp.Anonymous(this="date_trunc", expressions=[exp.Literal.string(unit), of.copy()])
        for of in (start, end)
    ]
    return exp.Anonymous(this="datediff", expressions=[exp.Var(this=unit), *cut])
