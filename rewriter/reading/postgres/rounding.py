"""PostgreSQL's rounding, which goes by the types that it gives numbers. Pure.

round(n), trunc(n), sign(n)    of a whole number: a DOUBLE, whose half is a fraction
round(2.5::float8)             of a DOUBLE: halves to the even number
round(n, 1)                    of one: NUMERIC
round(2.675 * x, 2)            of a NUMERIC that the store has as a DOUBLE: by its digits
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.postgres.aggregates import MEANS
from rewriter.reading.postgres.rough_numbers import is_float
from rewriter.reading.value_kinds import WHOLE_KINDS
from rewriter.reading.value_types import KIND, ValueTypes

_FLOATS = frozenset({"FLOAT", "REAL"})
_OF_BIGINT = "DECIMAL(19, 0)"
_INEXACT = (
    *(exp.Div, exp.IntDiv, exp.Sqrt, exp.Pow, exp.Exp, exp.Ln, exp.Log, exp.Cbrt),
    *MEANS,
)
"""What gives a DOUBLE where PostgreSQL has a NUMERIC."""
_EXACT = "CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 16))"
"""A DOUBLE by its shortest text, so that what was 2.675 is rounded as 2.675."""


def is_inexact(value: exp.Expr, types: ValueTypes) -> bool:
    """True for a NUMERIC that the store computes as a DOUBLE."""
    if types.of(value).kind in {"DOUBLE", *_FLOATS}:
        return False
    if types.context.capabilities.postgres_functions:
        return False
    return any(_is_rough(found, types) for found in value.find_all(*_INEXACT))


def _is_rough(node: exp.Expr, types: ValueTypes) -> bool:
    """True for what is computed as a DOUBLE of values that are none."""
    kinds = [types.of(part).kind for part in node.iter_expressions()]
    if isinstance(node, exp.IntDiv):
        return not any(kind is None or kind in WHOLE_KINDS for kind in kinds[:1]) or (
            (types.of(node).kind or "").startswith("DECIMAL")
        )
    return not any(kind in {"DOUBLE", *_FLOATS} for kind in kinds)


def spell_rounded(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``round`` and ``trunc`` that give what PostgreSQL's do; None for those that do."""
    whole = _of_whole(node, types)
    if whole is None and node.args.get("decimals") is None and isinstance(node, exp.Round):
        return _to_even(node, types)
    if whole is not None or node.args.get("decimals") is None:
        return whole
    if not is_inexact(node.this, types):
        return None
    made = node.copy()
    made.set("this", fill(_EXACT, x=node.this))
    return made


def _to_even(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The same of a floating-point number; None for others, and where the store does it."""
    if types.context.capabilities.postgres_functions or not is_float(node.this, types):
        return None
    made = fill("round_even(x, 0)", x=node.this)
    made.meta[KIND] = types.of(node.this).kind or "DOUBLE"
    return made


def _of_whole(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The same of a whole number, which is a DOUBLE, or NUMERIC with digits; None for others."""
    if types.of(node.this).kind not in WHOLE_KINDS:
        return None
    kind = "DOUBLE" if node.args.get("decimals") is None else _OF_BIGINT
    made = node.copy()
    made.set("this", exp.cast(node.this.copy(), kind, dialect="duckdb"))
    made.meta[KIND] = kind
    return made


def spell_sign(node: exp.Expr, types: ValueTypes) -> exp.Expr:
    """``sign`` as a NUMERIC of one, else as a DOUBLE."""
    is_numeric = (types.of(node.this).kind or "").startswith("DECIMAL")
    return exp.cast(node.copy(), "DECIMAL(1, 0)" if is_numeric else "DOUBLE", dialect="duckdb")
