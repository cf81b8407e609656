"""Dates, times and intervals of DuckDB's dialect on a PostgreSQL store. Pure.

INTERVAL 1.5 DAY, INTERVAL (c) HOUR     whole days and hours
hour(d)                                 of a DATE 0, of which PostgreSQL says no hours
isinf(d)                                of a moment, too
epoch(t)                                of a time in the zone that it has
d > '2024-1-5'                          as DuckDB reads a day
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call
from rewriter.reading.duckdb.checks import day_of_text
from rewriter.reading.duckdb.floats import compared_values
from rewriter.reading.duckdb.types import WHOLE, DuckDBTypes

HOURS = (exp.Hour, exp.Minute, exp.Second)
_HOURS = frozenset(
    "hour hours h hr hrs minute minutes m min mins second seconds s sec secs millisecond"
    " milliseconds ms msec msecs microsecond microseconds us usec usecs".split()
)
_DAYS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ"})
DAY_CHOICES = (exp.Coalesce, exp.Greatest, exp.Least)
_WITH_FRACTION = frozenset({"SECOND", "SECONDS", "MILLISECOND", "MILLISECONDS"})
_FRACTION_INSIDE = "fraction_in_string"


def spell_interval(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An interval of a number with a fraction, which only seconds have."""
    amount, unit = node.this, node.args.get("unit")
    if amount is None or unit is None or unit.name.upper() in _WITH_FRACTION:
        return None
    made = node.copy()
    if isinstance(amount, exp.Literal):
        whole, point, _ = amount.name.partition(".")
        is_kept = not point or node.args.get(_FRACTION_INSIDE) or not whole.lstrip("+-").isdigit()
        made.set("this", exp.Literal.string(whole))
        return None if is_kept else made
    if types.kind_of(amount) in WHOLE:
        return None
    made.set("this", exp.paren(call("trunc", exp.cast(amount.copy(), "DOUBLE")), copy=False))
    return made


def spell_later(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """``date_add`` of an interval."""
    if node.args.get("unit") is not None:
        return None
    later = exp.Add(this=node.this.copy(), expression=node.expression.copy())
    return exp.paren(later, copy=False)


def spell_since_1970(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The seconds, or parts of them, of a time with a zone: those of its own day, not of UTC."""
    value = node.this if isinstance(node.this, exp.Expr) else node.expressions[0]
    if types.kind_of(value) != "TIMETZ":
        return None
    made = node.copy()
    of = made.this if isinstance(made.this, exp.Expr) else made.expressions[0]
    of.replace(exp.cast(of.copy(), "TIME"))
    return made


def spell_mean(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``avg`` of moments, of which PostgreSQL has that of intervals alone."""
    if types.kind_of(node) not in {"TIMESTAMP", "TIMESTAMPTZ", "TIME"}:
        return None
    return exp.AnonymousAggFunc(this="mean_moment", expressions=[node.this.copy()])


SINCE_1970 = frozenset({"epoch_us", "epoch_ns"})
"""What the parser takes for calls like others."""


def spell_hour(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An hour or less of a day."""
    if types.kind_of(node.this) != "DATE":
        return None
    made = node.copy()
    made.set("this", exp.cast(made.this, "TIMESTAMP"))
    return made


def moment_of_part(unit: exp.Expr, value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """A value of which a part is asked: the beginning of a day, if that is an hour or less."""
    is_hour = unit.name.lower() in _HOURS
    is_day = is_hour and types.kind_of(value) == "DATE"
    return exp.cast(value.copy(), "TIMESTAMP") if is_day else value.copy()


def spell_infinite(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``isinf`` of a moment."""
    if not (types.kind_of(node.this) or "").startswith(("DATE", "TIMESTAMP")):
        return None
    return exp.paren(exp.not_(call("isfinite", node.this)), copy=False)


def compared_days(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A comparison or choice of moments and texts; raises MOMENT_TEXT for texts that are none."""
    if isinstance(node, exp.Case) and not node.this:
        return None
    values = compared_values(node)
    kinds = {types.kind_of(value) for value in values if not value.is_string}
    if not kinds or not kinds <= _DAYS or not any(value.is_string for value in values):
        return None
    made = node.copy()
    for old, new in zip(values, compared_values(made), strict=True):
        said = day_of_text(old.name, old) if old.is_string else None
        if said is not None:
            new.replace(exp.Literal.string(said))
    return None if made == node else made
