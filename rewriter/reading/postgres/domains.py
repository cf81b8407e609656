"""Calls that PostgreSQL refuses for numbers outside their domain; stores give no number. Pure.

ln(0)    log(-1)    sqrt(-1)    power(0, -1)    acos(2)      an error, and not infinity or NaN
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import fill

_OF_LOGARITHM = (
    ("x = 0", "cannot take logarithm of zero"),
    ("x < 0", "cannot take logarithm of a negative number"),
)
_OF_ANGLE = (("x < -1 OR x > 1", "input is out of range"),)
_ONE: dict[type[exp.Expr], tuple[tuple[str, str], ...]] = {
    exp.Ln: _OF_LOGARITHM,
    exp.Log: _OF_LOGARITHM,
    exp.Sqrt: (("x < 0", "cannot take square root of a negative number"),),
    exp.Asin: _OF_ANGLE,
    exp.Acos: _OF_ANGLE,
}
_POWER = (
    ("x = 0 AND y < 0", "zero raised to a negative power is undefined"),
    (
        "x < 0 AND y <> floor(y)",
        "a negative number raised to a non-integer power yields a complex result",
    ),
)


_ANGLES = (exp.Asin, exp.Acos)
KINDS = (*_ONE, exp.Pow)
"""What is guarded."""


def spell_guarded(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """The call under a CASE that fails outside its domain; None where constants lie inside."""
    if isinstance(node, exp.Pow):
        parts = [] if _is_positive(arguments[0]) else [dict(zip("xy", arguments, strict=True))]
    else:
        inside = isinstance(node, _ANGLES)
        parts = [{"x": x} for x in arguments if inside or not _is_positive(x)]
    branches = [
        _branch(when, why, part) for part in parts for when, why in _ONE.get(type(node), _POWER)
    ]
    if isinstance(node, exp.Log) and len(arguments) > 1 and _may_be_one(arguments[0]):
        branches.append(_branch("x = 1", "division by zero", {"x": arguments[0]}))
    return exp.Case(ifs=branches, default=node.copy()) if branches else None


def _may_be_one(base: exp.Expr) -> bool:
    return not isinstance(base, exp.Literal) or base.is_string or float(base.name) == 1


def _branch(when: str, why: str, parts: dict[str, exp.Expr]) -> exp.If:
    given = {name: exp.Paren(this=_number(part)) for name, part in parts.items()}
    failing: exp.If = fill(f"CASE WHEN {when} THEN error('{why}') END", **given).args["ifs"][0]
    return failing


def _number(value: exp.Expr) -> exp.Expr:
    """A copy; a text that stands for a number as one."""
    return exp.cast(value, "DOUBLE", dialect="duckdb") if value.is_string else value.copy()


def _is_positive(value: exp.Expr) -> bool:
    """True for a constant above zero."""
    return isinstance(value, exp.Literal) and not value.is_string and float(value.name) > 0
