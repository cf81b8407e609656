"""Rows that DuckDB's dialect compares, on a PostgreSQL store. Pure.

(a, b) = (c, d)         true or false: a NULL is like another NULL, and greater than all values
(a, b) IN ((1, 2))      likewise
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.duckdb.types import DuckDBTypes

COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def spell_rows(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A comparison of two rows, or of one with a list of others."""
    if isinstance(node.parent, exp.Update | exp.OnConflict) and node.arg_key == "expressions":
        return None
    left = _values(node.this)
    if left is None:
        return None
    if isinstance(node, exp.In):
        rows = [_values(row) for row in node.expressions]
        if not rows or any(row is None or len(row) != len(left) for row in rows):
            return None
        found = exp.or_(*(_are_equal(left, row) for row in rows if row is not None), copy=False)
        return exp.paren(found, copy=False)
    right = _values(node.expression)
    if right is None or len(left) != len(right):
        return None
    match node:
        case exp.EQ():
            made = _are_equal(left, right)
        case exp.NEQ():
            made = exp.not_(_are_equal(left, right), copy=False)
        case exp.LT():
            made = _is_less(left, right)
        case exp.GT():
            made = _is_less(right, left)
        case exp.LTE():
            made = exp.not_(_is_less(right, left), copy=False)
        case _:
            made = exp.not_(_is_less(left, right), copy=False)
    return exp.paren(made, copy=False)


def _values(row: object) -> list[exp.Expr] | None:
    """The values of a row that is written out; None for all else."""
    while isinstance(row, exp.Paren):
        row = row.this
    if isinstance(row, exp.Tuple):
        return list(row.expressions) or None
    is_row = isinstance(row, exp.Anonymous) and row.name.lower() == "row"
    return list(row.expressions) or None if is_row and isinstance(row, exp.Anonymous) else None


def _are_equal(left: list[exp.Expr], right: list[exp.Expr]) -> exp.Expr:
    pairs = zip(left, right, strict=True)
    return exp.paren(exp.and_(*(_is_same(*pair) for pair in pairs), copy=False), copy=False)


def _is_less(left: list[exp.Expr], right: list[exp.Expr]) -> exp.Expr:
    """Whether the first values that differ are in order."""
    found: list[exp.Expr] = []
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        before = [_is_same(*pair) for pair in zip(left[:place], right[:place], strict=True)]
        is_last = exp.and_(_is_known(one), exp.Is(this=other.copy(), expression=exp.Null()))
        smaller = exp.LT(this=_operand(one), expression=_operand(other))
        ordered = exp.Coalesce(this=smaller, expressions=[exp.paren(is_last, copy=False)])
        found.append(exp.paren(exp.and_(*before, ordered, copy=False), copy=False))
    return exp.paren(exp.or_(*found, copy=False), copy=False)


def _is_same(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Whether two values are one, or both NULL; beside a constant an index can find it."""
    for value, constant in ((one, other), (other, one)):
        if isinstance(constant, exp.Literal):
            equal = exp.EQ(this=_operand(value), expression=constant.copy())
            return exp.paren(exp.and_(equal, _is_known(value), copy=False), copy=False)
    return exp.NullSafeEQ(this=_operand(one), expression=_operand(other))


def _is_known(value: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=_operand(value), expression=exp.Null()), copy=False)


def _operand(value: exp.Expr) -> exp.Expr:
    is_plain = isinstance(value, exp.Column | exp.Literal | exp.Null | exp.Func | exp.Paren)
    return value.copy() if is_plain else exp.paren(value.copy(), copy=False)
