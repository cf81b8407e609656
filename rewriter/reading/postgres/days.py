"""Sums and differences of dates with numbers and times of day, in DuckDB's SQL. Pure.

d + i, d - i        of a computed number, which other stores take for a BIGINT
d - t, p - t        of a time of day
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.value_kinds import WHOLE_KINDS

_DAYS = ("DATE ", "TIMESTAMP")
"""How the types begin, a blank behind them, that have days."""


def spell_days(node: exp.Expr, kinds: Mapping[str, str]) -> exp.Expr | None:
    """What means the same as such a sum; None for any other.

    ``kinds`` are the types of ``this`` and ``expression``.
    """
    left, right = kinds["this"], kinds["expression"]
    if isinstance(node, exp.Sub) and right == "TIME" and (left + " ").startswith(_DAYS):
        moment = exp.cast(node.this.copy(), "TIMESTAMP" if left == "DATE" else left)
        return fill("p - to_microseconds(epoch_us(t))", p=moment, t=node.expression)
    is_sum = isinstance(node, exp.Add)
    for name, kind, beside in (("expression", right, left), ("this", left, right)):
        number = node.args[name].unnest()
        is_days = beside == "DATE" and kind in WHOLE_KINDS and (is_sum or name == "expression")
        if is_days and not isinstance(number, exp.Literal | exp.Cast):
            made = node.copy()
            made.set(name, exp.cast(number.copy(), "INTEGER", dialect="duckdb"))
            return made
    return None
