"""Fences that keep an optimizer from moving conditions below them.

PostgreSQL and DuckDB move no condition below OFFSET 0, Spark none below a random number.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.capabilities import Capabilities


def fenced(query: exp.Select, capabilities: Capabilities) -> exp.Select:
    """The same rows behind a fence; the query given is changed in place."""
    if capabilities.fences_by_offset:
        return query.offset(0, copy=False)
    # True of every row, which no optimizer knows; Spark folds RAND() >= 0.
    moved = exp.Add(this=exp.Rand(), expression=exp.Literal.number(1))
    return query.where(exp.GT(this=moved, expression=exp.Literal.number(0)), copy=False)
