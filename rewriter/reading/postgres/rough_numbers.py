"""Finds values that are NUMERIC in PostgreSQL, and that other stores compute as DOUBLE. Pure.

a / 3, avg(a), stddev(a)       of whole numbers and NUMERICs
avg(a) + 1, sum(a / b)         what is made of such values
s.m                            a column of a subquery or of a CTE that is one
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.context import RewriteContext
from rewriter.reading.postgres.aggregates import MEANS
from rewriter.reading.value_kinds import WHOLE_KINDS
from rewriter.reading.value_types import UNKNOWN, ValueType, ValueTypes, results_of

_ROUGH = "DECIMAL ROUGH"
_WHOLE = WHOLE_KINDS | {"HUGEINT"}
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_MADE_OF = (exp.Add, exp.Sub, exp.Mul, exp.Div)
_CHOSEN = (exp.Coalesce, exp.Greatest, exp.Least)


def is_rough(value: exp.Expr, types: ValueTypes) -> bool:
    """True for a NUMERIC that is computed as a DOUBLE."""
    return _RoughNumbers(types.context).of(value).kind == _ROUGH


def is_float(value: exp.Expr, types: ValueTypes) -> bool:
    """True for a floating-point number, also for a mean of such."""
    return _RoughNumbers(types.context).of(value).kind in _FLOATS


class _RoughNumbers(ValueTypes):
    """The types of expressions, of which rough numbers have one of their own."""

    def __init__(self, context: RewriteContext) -> None:
        super().__init__(context)
        self._found: dict[int, tuple[exp.Expr, ValueType]] = {}
        """By the nodes, which are asked for here and once more by the types of what they make:
        without it each level of a nested CASE would double the work."""

    def of(self, node: exp.Expr, depth: int = 0) -> ValueType:
        """The type of an expression."""
        if id(node) not in self._found:
            self._found[id(node)] = (node, self._of(node, depth))
        return self._found[id(node)][1]

    def _of(self, node: exp.Expr, depth: int) -> ValueType:
        if isinstance(node, (*MEANS, exp.Sum)):
            kind = self.of(node.this, depth + 1).kind
            is_mean = isinstance(node, MEANS)
            if kind == _ROUGH or (is_mean and _is_exact(kind)):
                return ValueType(kind=_ROUGH)
            return ValueType(kind="DOUBLE") if kind in _FLOATS else super().of(node, depth)
        parts = _parts(node)
        kinds = {self.of(part, depth + 1).kind for part in parts}
        if _ROUGH not in kinds and not isinstance(node, exp.Div):
            return super().of(node, depth)
        if kinds <= _WHOLE:
            return super().of(node, depth)
        if all(kind == _ROUGH or _is_exact(kind) for kind in kinds):
            return ValueType(kind=_ROUGH)
        return ValueType(kind="DOUBLE") if kinds & _FLOATS else UNKNOWN


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """The values that a number is made of, or chosen from."""
    found: list[exp.Expr] = []
    if isinstance(node, _MADE_OF):
        found = [node.this, node.expression]
    elif isinstance(node, exp.Case):
        found = results_of(node)
    elif isinstance(node, _CHOSEN):
        found = list(node.iter_expressions())
    return [part for part in found if not isinstance(part, exp.Null)]


def _is_exact(kind: str | None) -> bool:
    return kind in _WHOLE or (kind or "").startswith("DECIMAL")
