"""Places in arrays, as ``[1, 3 to last]`` names them, in DuckDB's SQL. Pure.

Most are numbers, and ``last`` less a number: these are computed here. All others are sequences of
one number, whose fraction does not count.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from journal.model.lazy_dataclass import dataclass
from rewriter.reading.postgres.json.path.items import (
    NO_ITEMS,
    Items,
    Surroundings,
    failure,
    is_array,
    is_failure,
    let_both,
    opened,
)
from rewriter.reading.postgres.json.path.nodes import (
    Binary,
    Constant,
    Expression,
    Last,
    Subscripts,
    Unary,
)
from rewriter.reading.postgres.json.path.numbers import single_number, truncated
from rewriter.reading.postgres.json.path.predicates import Evaluate

_INTEGER_MAX = 2**31 - 1
_OUTSIDE = failure("jsonpath array subscript is out of bounds")
_BEYOND = failure("jsonpath array subscript is out of integer range")
_NO_NUMBER = failure("jsonpath array subscript is not a single numeric value")
_NO_ARRAY = failure("jsonpath array accessor can only be applied to an array")


@dataclass(frozen=True, slots=True)
class _Folded:
    """A number, counted from the last place if ``from_last``."""

    number: Decimal
    from_last: bool = False


def elements_at(item: str, step: Subscripts, scope: Surroundings, evaluate: Evaluate) -> Items:
    """The elements of an item at places, of which lax mode takes what is no array for the first."""
    size = f"CASE WHEN {is_array(item)} THEN CAST(json_array_length({item}) AS BIGINT) ELSE 1 END"
    inner = replace(scope, last=f"({size} - 1)")
    parts = [_range(first, last, item, inner, evaluate) for first, last in step.ranges]
    sql = parts[0].sql
    if len(parts) > 1:
        sql = f"flatten([{', '.join(part.sql for part in parts)}])"
    may_fail = any(part.may_fail for part in parts)
    if not scope.is_lax:
        missing = NO_ITEMS if scope.ignores else f"[{_NO_ARRAY}]"
        sql = f"CASE WHEN {is_array(item)} THEN {sql} ELSE {missing} END"
    return Items(sql, may_fail=may_fail or not scope.ignores)


def _range(
    first: Expression, last: Expression | None, item: str, scope: Surroundings, evaluate: Evaluate
) -> Items:
    """The elements of a list from one place to another."""
    assert scope.last is not None
    ends = [_folded(node) for node in (first, last) if node is not None]
    numbers = [_place_sql(end, scope.last) for end in ends if end is not None]
    if len(numbers) == len(ends):
        if any(number is None for number in numbers):
            return Items(f"[{_BEYOND}]", may_fail=True)
        return Items(_between(str(numbers[0]), str(numbers[-1]), item, scope))
    start = _computed(first, scope, evaluate)
    end = start if last is None else _computed(last, scope, evaluate)

    def ends_at(a: str, b: str) -> str:
        first, last = (f"CAST({place} AS BIGINT)" for place in (a, b))
        within = _between(first, last, item, scope)
        return (
            f"CASE WHEN {is_failure(a)} THEN [{a}] WHEN {is_failure(b)} THEN [{b}]"
            f" ELSE {within} END"
        )

    sql = let_both((start, end), scope, ends_at)
    return Items(sql, may_fail=True)


def _between(start: str, end: str, item: str, scope: Surroundings) -> str:
    items = opened(item)
    within = f"list_slice({items}, greatest({start}, 0) + 1, {end} + 1)"
    if scope.ignores:
        return f"CASE WHEN {end} >= greatest({start}, 0) THEN {within} ELSE {NO_ITEMS} END"
    return (
        f"CASE WHEN {start} < 0 OR {start} > {end} OR {end} > {scope.last}"
        f" THEN [{_OUTSIDE}] ELSE {within} END"
    )


def _folded(node: Expression) -> _Folded | None:
    """The place that numbers and ``last`` make; None for all else."""
    match node:
        case Last():
            return _Folded(Decimal(0), from_last=True)
        case Constant() if node.text[0] in "0123456789":
            return _Folded(Decimal(node.text))
        case Unary():
            inner = _folded(node.operand)
            if inner is None or inner.from_last:
                return None
            return inner if node.operator == "+" else _Folded(-inner.number)
        case Binary(operator="+" | "-"):
            left, right = _folded(node.left), _folded(node.right)
            if left is None or right is None or right.from_last:
                return None
            change = right.number if node.operator == "+" else -right.number
            return _Folded(left.number + change, left.from_last)
    return None


def _place_sql(place: _Folded, last: str) -> str | None:
    """SQL of a place without its fraction; None beyond an INTEGER."""
    if abs(place.number) > _INTEGER_MAX:
        return None
    if not place.from_last:
        return f"{int(place.number)}"
    return f"CAST(trunc({last} + ({place.number})) AS BIGINT)" if place.number else last


def _computed(node: Expression, scope: Surroundings, evaluate: Evaluate) -> str:
    """SQL of a place as a text, or of an error."""
    return single_number(evaluate(node, scope, False), scope, _NO_NUMBER, _cut)


def _cut(number: str) -> str:
    return f"COALESCE(CAST({truncated(number)} AS VARCHAR), {_BEYOND})"
