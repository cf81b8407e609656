"""CHAR(n) of PostgreSQL's dialect, whose blanks at the end say nothing. Pure.

c = 'ab  '      becomes  c = 'ab'
c = $1          becomes  c = rtrim($1, ' ')

Columns are kept without such blanks, see ``without_blanks``, so that they are compared as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.schema import Column
from journal.sql.builders import fill
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.value_types import ValueTypes
from rewriter.syntax.spelled_types import BLANK_PADDED

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between),
    *(exp.NullSafeEQ, exp.NullSafeNEQ),
)


_OF_ANY_TYPE = (exp.Placeholder, exp.Parameter)
"""What is of the type of what it is compared with; a text stays one, and its blanks count."""
_KEPT = (exp.Column, exp.Trim)
"""What has no such blanks."""


def without_blanks(value: exp.Expr, stored: Column) -> exp.Expr:
    """A value for a column, without blanks at the end for a CHAR(n)."""
    if stored.spelled != BLANK_PADDED:
        return value
    text = value if value.is_string else exp.cast(value, "VARCHAR", dialect="duckdb")
    return _trimmed_value(text)


def compares_blanks(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a statement that compares values of CHAR(n) with others."""
    return next(_sides(tree, types), None) is not None


def compare_without_blanks(tree: exp.Expr, types: ValueTypes) -> None:
    """Leave the blanks at the end of these others out, in place."""
    for side in list(_sides(tree, types)):
        side.replace(_trimmed_value(side))


def _sides(tree: exp.Expr, types: ValueTypes) -> Iterator[exp.Expr]:
    for node in tree.find_all(*_COMPARISONS):
        if is_assignment(node):
            continue
        sides = [side for side in _values(node) if side is not None]
        if not any(types.of(side).spelled == BLANK_PADDED for side in sides):
            continue
        for side in sides:
            if isinstance(side, _OF_ANY_TYPE):
                yield side
            elif side.is_string:
                yield from [side] if side.name.endswith(" ") else []
            elif types.of(side).spelled == BLANK_PADDED and not isinstance(side, _KEPT):
                yield side


def _values(node: exp.Expr) -> list[exp.Expr | None]:
    if isinstance(node, exp.Between):
        return [node.this, node.args["low"], node.args["high"]]
    return [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]


def _trimmed_value(value: exp.Expr) -> exp.Expr:
    if value.is_string:
        return exp.Literal.string(value.name.rstrip(" "))
    return fill("rtrim(v, ' ')", v=value)
