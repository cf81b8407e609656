"""Aggregates that PostgreSQL has under another name or form. Pure.

Each is one aggregate, so that FILTER and OVER may follow; where it cannot be, these are refused.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.builders import call
from journal.sql.calls import Change, refused, template

_template = partial(template, "postgres")
_ALONE = refused("PostgreSQL", "FILTER or OVER here", "aggregate in a subquery with WHERE")


def alone(change: Change) -> Change:
    """What is no aggregate itself but made of one."""

    def checked(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
            return _ALONE(node)
        return change(node)

    return checked


def _in_window(name: str, otherwise: Change) -> Change:
    """An aggregate of our own over the rows of a window; else what ``otherwise`` gives."""

    def change(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node.parent, exp.Window) and node.arg_key == "this":
            return call(name, node.this)
        return alone(otherwise)(node)

    return change


def _call(sql: str, *names: str) -> Change:
    """The same without brackets around it."""
    fill = _template(sql, *names)

    def change(node: exp.Expr) -> exp.Expr | None:
        made = fill(node)
        return made.this if isinstance(made, exp.Paren) else made

    return change


def _of_extreme(order: str) -> Change:
    listed = f"ARRAY_AGG(x ORDER BY y {order})"
    known = "NOT x IS NULL AND NOT y IS NULL"
    plain = _template(f"({listed} FILTER (WHERE {known}))[1]", "x", "y")
    filtered = _template(f"({listed} FILTER (WHERE {known} AND f))[1]", "x", "y", "f")

    def change(node: exp.Expr) -> exp.Expr | None:
        above = node.parent
        if not isinstance(above, exp.Filter) or isinstance(above.parent, exp.Window):
            return alone(plain)(node)
        made = filtered(call("", node.this, node.expression, above.expression.this))
        above.set("expression", None)
        return made

    return change


def without_filter(node: exp.Expr) -> exp.Expr | None:
    """An aggregate that has taken the condition of its FILTER into itself."""
    return node.this if node.args.get("expression") is None else None


def _first_of(order: str) -> Change:
    """``max(x, n)``: the greatest of the values, in a list."""
    several = alone(
        _template(
            f"LIST_SLICE(ARRAY_AGG(x ORDER BY x {order}) FILTER (WHERE NOT x IS NULL), 1, n)",
            *("x", "n"),
        )
    )

    def change(node: exp.Expr) -> exp.Expr | None:
        count = node.args.get("count")
        return None if count is None else several(call("", node.this, count))

    return change


def _of_several(order: str) -> Change:
    """``arg_max(x, y, n)``: the values beside the greatest others, in a list."""
    one = _of_extreme(order)
    several = alone(
        _template(
            f"LIST_SLICE(ARRAY_AGG(x ORDER BY y {order})"
            " FILTER (WHERE NOT x IS NULL AND NOT y IS NULL), 1, n)",
            *("x", "y", "n"),
        )
    )

    def change(node: exp.Expr) -> exp.Expr | None:
        count = node.args.get("count")
        return one(node) if count is None else several(call("", node.this, node.expression, count))

    return change


def _approximate(node: exp.Expr) -> exp.Expr | None:
    """A value of the rows, which is as near as can be."""
    return exp.PercentileDisc(this=node.this, expression=node.args.get("quantile"))


_NO_ORDER = refused(
    "PostgreSQL", "ORDER BY or DISTINCT in this call", "order the rows in a subquery, or by OVER"
)
_RANKS = (
    *(exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.RowNumber, exp.Ntile),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
)


def _without_order(node: exp.Expr) -> exp.Expr | None:
    """A function of windows, which takes the order of its window."""
    return _NO_ORDER(node) if any(isinstance(p, _ORDER) for p in node.iter_expressions()) else None


def _mode(node: exp.Expr) -> exp.Expr | None:
    return _NO_ORDER(node) if isinstance(node.this, _ORDER) else _MODE(node)


_ORDER = (exp.Order, exp.Distinct)
_MODE = _in_window("window_mode", _template("MODE() WITHIN GROUP (ORDER BY x)", "x"))
BY_NAME: dict[str, Change] = {
    "mean": _call("AVG(CAST(x AS DOUBLE PRECISION))", "x"),
    "favg": _call("AVG(CAST(x AS DOUBLE PRECISION))", "x"),
    "fsum": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "kahan_sum": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "sumkahan": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "arbitrary": alone(_template("(ARRAY_AGG(x))[1]", "x")),
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.ApproxDistinct: _call("COUNT(DISTINCT x)", "x"),
    exp.ApproxQuantile: _approximate,
    exp.ArgMax: _of_several("DESC"),
    exp.ArgMin: _of_several("ASC"),
    exp.GroupingId: lambda node: exp.Grouping(expressions=node.expressions),
    exp.Max: _first_of("DESC"),
    exp.Min: _first_of("ASC"),
    exp.Median: _in_window("window_median", lambda _: None),
    exp.Mode: _mode,
    **dict.fromkeys(_RANKS, _without_order),
    exp.Quantile: lambda node: exp.PercentileDisc(
        this=node.this, expression=node.args.get("quantile")
    ),
}
