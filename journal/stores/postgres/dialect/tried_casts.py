"""Casts that give NULL where they fail, which PostgreSQL lacks. Pure.

A text is cast by a function that catches the error. What is known to be a number or a truth is cast
as PostgreSQL casts it, if it lies within the type: as a text, 1.5 and true would be no INTEGER.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from journal.sql.builders import call
from journal.sql.row_layout import WRITTEN_AS

_BITS = {
    exp.DType.SMALLINT: 16,
    exp.DType.INT: 32,
    exp.DType.BIGINT: 64,
    exp.DType.TINYINT: 8,
}
_WHOLE = frozenset(_BITS)
_NUMBERS = exp.DataType.NUMERIC_TYPES | {exp.DType.BIGNUM}
_HALF = Decimal("0.5")


def tried_cast(node: exp.Expr) -> exp.Expr:
    """What gives the value of a TRY_CAST."""
    value, kind = node.this, node.args["to"]
    written = node.meta.get(WRITTEN_AS)
    source = None if written is None else exp.DataType.build(written, dialect="duckdb").this
    if source is exp.DType.BOOLEAN and kind.this in _NUMBERS:
        return exp.cast(exp.cast(value, "INT"), kind)
    if source in _WHOLE and kind.this is exp.DType.BOOLEAN:
        return exp.paren(exp.NEQ(this=value.copy(), expression=exp.Literal.number(0)))
    if source in _NUMBERS and kind.this in _WHOLE:
        bound = Decimal(2) ** (_BITS[kind.this] - 1)
        return _within(value, -bound - _HALF, bound - _HALF, kind)
    if kind.this is exp.DType.DECIMAL and kind.expressions:
        number = value if source in _NUMBERS else _of_text(value, exp.DataType.build("DECIMAL"))
        precision, scale = (int(part.name) for part in (*kind.expressions, _ZERO)[:2])
        bound = Decimal(10) ** (precision - scale) - _HALF / 10**scale
        return _within(number, -bound, bound, kind)
    return _of_text(value, kind)


_ZERO = exp.DataTypeParam(this=exp.Literal.number(0))


def _of_text(value: exp.Expr, kind: exp.DataType) -> exp.Expr:
    sample = exp.Cast(this=exp.Null(), to=kind)
    schema = exp.to_identifier("_palimpsest", quoted=True)
    return exp.Dot(this=schema, expression=call("try_cast", exp.cast(value, "TEXT"), sample))


def _within(value: exp.Expr, low: Decimal, high: Decimal, kind: exp.DataType) -> exp.Expr:
    """The value as a number that lies between two bounds; NULL for others and for NaN."""
    fits = exp.and_(
        exp.GT(this=value.copy(), expression=exp.Literal.number(str(low))),
        exp.LT(this=value.copy(), expression=exp.Literal.number(str(high))),
    )
    # Without a cast around it, what a CASE gives has no digits of its own.
    return exp.cast(exp.Case().when(fits, exp.cast(value.copy(), kind)), kind)
