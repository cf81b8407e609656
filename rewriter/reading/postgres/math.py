"""PostgreSQL's functions of numbers where DuckDB gives another value, or none. Pure.

gcd(a, b), lcm(a, b)           of INTEGER: an INTEGER, which may overflow
acosh(x), atanh(x)             fail out of their range; atanh(1) is infinite
var_pop(x), stddev_pop(x)      of an infinity alone, or of NaN: NaN
n << m, n >> m                 of m only the lower bits count
r = 1.1                        of a REAL: compared as a DOUBLE, as which 1.1 is another number
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.reading.value_types import KIND, ValueTypes

_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "INT"})
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_SINGLE = frozenset({"FLOAT", "REAL"})
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "DECIMAL", "DOUBLE")
_OUT_OF_RANGE = "error('input is out of range')"
_ACOSH = f"CASE WHEN x < 1 THEN {_OUT_OF_RANGE} ELSE acosh(x) END"
_ATANH = (
    f"CASE WHEN NOT isnan(x) AND abs(x) > 1 THEN {_OUT_OF_RANGE}"
    " WHEN abs(x) = 1 THEN x * CAST('Infinity' AS DOUBLE) ELSE atanh(x) END"
)
_FINITE_ALONE = "CASE WHEN bool_and(isfinite(x)) IS FALSE THEN CAST('NaN' AS DOUBLE) ELSE v END"


def spell_divisor(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``gcd`` and ``lcm`` of two numbers of at most 32 bits; None for others."""
    if not all(types.of(value).kind in _WHOLE for value in node.expressions):
        return None
    return exp.cast(call(function_name(node), *node.expressions), "INTEGER", dialect="duckdb")


def spell_inverse(node: exp.Expr, _: ValueTypes) -> exp.Expr:
    """``acosh`` and ``atanh``, whose argument is a DOUBLE."""
    number = exp.cast(node.this.copy(), "DOUBLE", dialect="duckdb")
    return exp.paren(fill(_ACOSH if isinstance(node, exp.Acosh) else _ATANH, x=number))


def spell_spread(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``var_pop`` and ``stddev_pop`` of DOUBLE in a group; None for others, and over windows."""
    if types.of(node.this).kind not in _FLOATS or isinstance(node.this, exp.Distinct):
        return None
    if isinstance(node.parent, exp.Filter | exp.Window):
        return None
    made = exp.paren(fill(_FINITE_ALONE, x=node.this, v=node))
    made.meta[KIND] = "DOUBLE"
    return made


_SHIFT = "CAST(x AS HUGEINT) * (CAST(1 AS HUGEINT) << (n & {top}))"
_WRAPPED = "CAST((({0} + {1}) % {2} + {2}) % {2} - {1} AS {3})"


def spell_shift(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``n << m``, whose upper bits are lost, and ``n >> m``: of m only the lower bits count."""
    kind = types.of(node.this).kind
    if kind not in {"INTEGER", "INT", "BIGINT"}:
        return None
    size = 64 if kind == "BIGINT" else 32
    parts = {"x": exp.paren(node.this.copy()), "n": exp.paren(node.expression.copy())}
    if isinstance(node, exp.BitwiseRightShift):
        return exp.paren(fill(f"x >> (n & {size - 1})", **parts))
    wide = _SHIFT.format(top=size - 1)
    return fill(_WRAPPED.format(wide, 1 << (size - 1), 1 << size, kind), **parts)


def spell_compared(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """A comparison of a REAL with a number of another type; None for others."""
    kinds = {name: types.of(node.args[name]).kind or "" for name in ("this", "expression")}
    for name, other in (("this", "expression"), ("expression", "this")):
        is_other = kinds[other].startswith(_NUMBERS) and kinds[other] not in _SINGLE
        if kinds[name] in _SINGLE and is_other and not kinds[other].endswith("]"):
            made = node.copy()
            made.set(name, exp.cast(made.args[name], "DOUBLE", dialect="duckdb"))
            return made
    return None
