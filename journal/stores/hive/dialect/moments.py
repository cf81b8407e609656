"""Truncates moments, and counts units between them, as the canonical dialect does.

    date_trunc('day', x)    =  x + what takes it there, so that no zone comes to a moment without
    date_trunc('decade', x) the same by the beginning of the year, less the years of the decade
    date_diff('day', x, y)  =  datediff(DAY, date_trunc('DAY', x), date_trunc('DAY', y))

Spark's date_trunc always gives a moment in a zone; its difference counts whole units, of which
there is none between 23:00 and 1:00 of the next day. Pure.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import refused

_UNITS = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
    *("MILLISECOND", "MICROSECOND"),
)
_YEARS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
"""Units that Spark does not cut to, and gives NULL for, by their years."""
_PLURALS = {"CENTURIES": "CENTURY", "MILLENNIA": "MILLENNIUM"}
BARE = exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
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
    name = unit.name.upper() if unit.is_string else ""
    if name and name not in _UNITS:
        name = _PLURALS.get(name, name.removesuffix("S"))
        if name not in (*_UNITS, *_YEARS):
            return _refuse(f"date_trunc to the unit {unit.name.lower()}")(node)
    if name in _YEARS:
        years = fill("make_ym_interval(CAST(year(x) % n AS INT))", x=of, n=_YEARS[name])
        year = call("date_trunc", exp.Literal.string("YEAR"), of)
        cut: exp.Expr = exp.paren(exp.Sub(this=year, expression=years), copy=False)
    else:
        cut = call("date_trunc", exp.Literal.string(name) if name else unit, of)
    way = "CASE WHEN kind = 'timestamp' THEN cut - (x) ELSE bare_cut - bare END"
    return fill(
        f"((x) + ({way}))",
        x=of,
        kind=call("typeof", of),
        cut=cut,
        bare_cut=exp.cast(cut, BARE),
        bare=exp.cast(of.copy(), BARE),
    )


def microseconds(node: exp.Expr) -> exp.Expr | None:
    """Seconds and their fraction, of which Spark has no whole number of microseconds."""
    if node.name.upper() not in {"MICROSECOND", "MICROSECONDS"}:
        return None
    seconds = exp.Extract(this=exp.var("SECOND"), expression=node.expression.copy())
    return fill("CAST(CAST(s AS DECIMAL(8, 6)) * 1000000 AS BIGINT)", s=seconds)


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
    return found.else_(call("raise_error", call("concat", "no unit of time: ", unit)))


def _between(unit: str, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    cut = [call("date_trunc", unit, of) for of in (start, end)]
    return call("datediff", exp.Var(this=unit), *cut)
