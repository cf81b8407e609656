"""Aggregates that PostgreSQL has under another name or form. Pure.

Each is one aggregate, so that FILTER and OVER may follow; where it cannot be, these are refused.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from journal.sql.calls import Change, refused, template

_template = partial(template, "postgres")
_ALONE = refused("PostgreSQL", "FILTER or OVER here", "aggregate in a subquery with WHERE")


def _bare(change: Change) -> Change:
    """What is no aggregate itself but made of one."""

    def checked(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
            return _ALONE(node)
        return change(node)

    return checked


def _call(sql: str, *names: str) -> Change:
    """The same without brackets around it."""
    fill = _template(sql, *names)

    def change(node: exp.Expr) -> exp.Expr | None:
        made = fill(node)
        return made.this if isinstance(made, exp.Paren) else made

    return change


def _of_extreme(order: str) -> Change:
    return _bare(
        _template(
            f"(ARRAY_AGG(x ORDER BY y {order}) FILTER (WHERE NOT x IS NULL AND NOT y IS NULL))[1]",
            "x",
            "y",
        )
    )


BY_NAME: dict[str, Change] = {
    "mean": _call("AVG(CAST(x AS DOUBLE PRECISION))", "x"),
    "favg": _call("AVG(CAST(x AS DOUBLE PRECISION))", "x"),
    "fsum": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "kahan_sum": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "sumkahan": _call("SUM(CAST(x AS DOUBLE PRECISION))", "x"),
    "arbitrary": _bare(_template("(ARRAY_AGG(x))[1]", "x")),
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.ApproxDistinct: _call("COUNT(DISTINCT x)", "x"),
    exp.ArgMax: _of_extreme("DESC"),
    exp.ArgMin: _of_extreme("ASC"),
    exp.First: _bare(_template("(ARRAY_AGG(x))[1]", "x")),
    exp.Mode: _bare(_template("MODE() WITHIN GROUP (ORDER BY x)", "x")),
    exp.Quantile: lambda node: exp.PercentileDisc(
        this=node.this, expression=node.args.get("quantile")
    ),
}
