"""DISTINCT ON beside functions of several rows, which PostgreSQL computes behind it. Pure.

SELECT DISTINCT ON (a) a, generate_series(1, 3) FROM t ORDER BY a, b    three rows for each a
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from rewriter.checks.allowed import MAKE_ROWS, ROW_MAKERS
from rewriter.functions import function_name
from rewriter.reading.postgres.quoting import not_here


def makes_rows_late(select: exp.Select) -> bool:
    """True where rows are chosen by DISTINCT ON and ORDER BY before functions multiply them."""
    distinct, order = select.args.get("distinct"), select.args.get("order")
    if order is None or not isinstance(distinct, exp.Distinct) or distinct.args.get("on") is None:
        return False
    named = {fold(c.name) for part in (distinct, order) for c in part.find_all(exp.Column)}
    return any(
        _makes_rows(output) and fold(output.alias_or_name) not in named
        for output in select.expressions
    )


def check_distinct_rows(select: exp.Select) -> None:
    """Raise NOT_SUPPORTED for such a query: other stores multiply the rows first."""
    if makes_rows_late(select):
        what = "DISTINCT ON beside a function of several rows"
        raise not_here(select, what, "choose the rows in a subquery, and call the function outside")


def _makes_rows(output: exp.Expr) -> bool:
    if output.find(*ROW_MAKERS) is not None:
        return True
    return any(function_name(call) in MAKE_ROWS for call in output.find_all(exp.Anonymous))
