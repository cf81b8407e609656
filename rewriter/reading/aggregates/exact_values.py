"""Finds expressions whose sums can be added and subtracted exactly. Pure.

Whole numbers and decimals are exact; sums of floating-point numbers depend on the order of their
rows (x + y - y is not x), so nothing can be subtracted from them. What is not known is not exact.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.schema import Column
from rewriter.functions import function_name

ColumnOf = Callable[[exp.Column], Column | None]
"""Finds the stored column that an expression names, None where that is not certain."""

_EXACT = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT"
    " UTINYINT USMALLINT UINTEGER UBIGINT DECIMAL".split()
)
_DIGITS_MAX = 30
"""Of a number that is written out: one with more may be a floating-point number."""
_WHOLE = _EXACT - {"DECIMAL"}
_WHOLE_CASTS = frozenset("TINYINT SMALLINT INT BIGINT INT128".split())
_WHOLE_RESULTS = (
    *(exp.Length, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfWeek),
    *(exp.DayOfYear, exp.Hour, exp.Minute, exp.DateDiff),
)
_TWO_FACED = frozenset("FLOAT REAL DOUBLE INTERVAL".split())
"""Types with values that are equal and yet not the same: 0.0 and -0.0, 30 days and a month."""


def is_exact(node: exp.Expr, column_of: ColumnOf) -> bool:
    """True for whole numbers and decimals."""
    results = _results(node)
    if results is not None:
        return all(is_exact(one, column_of) for one in results)
    match node:
        case exp.Cast():
            return node.to.this.value in _WHOLE_CASTS or node.to.is_type("decimal")
        case exp.Literal():
            digits = node.name.replace(".", "", 1)
            return not node.is_string and digits.isdigit() and len(digits) <= _DIGITS_MAX
        case exp.Column():
            return _type_of(node, column_of) in _EXACT
        case _:
            return is_whole(node, column_of)


def is_whole(node: exp.Expr, column_of: ColumnOf) -> bool:
    """True for whole numbers."""
    if isinstance(node, _WHOLE_RESULTS):
        return True
    results = _results(node)
    if results is not None:
        return all(is_whole(one, column_of) for one in results)
    match node:
        case exp.Cast():
            return node.to.this.value in _WHOLE_CASTS
        case exp.Literal():
            return not node.is_string and node.name.isdigit() and len(node.name) <= _DIGITS_MAX
        case exp.Column():
            return _type_of(node, column_of) in _WHOLE
        case exp.IntDiv():
            sides = (node.this, node.expression)
            return all(is_whole(side, column_of) for side in sides)
        case _:
            return False


def decimal_places(node: exp.Expr, column_of: ColumnOf) -> int | None:
    """Digits behind the point of an exact value; None where they are not known."""
    if is_whole(node, column_of):
        return 0
    match node:
        case exp.Column():
            found = column_of(node)
            return None if found is None else _places(found.type)
        case exp.Paren() | exp.Neg() | exp.Abs():
            return decimal_places(node.this, column_of)
        case exp.Literal():
            return len(node.name.partition(".")[2])
        case exp.Mul() | exp.Add() | exp.Sub():
            sides = [decimal_places(s, column_of) for s in (node.this, node.expression)]
            if sides[0] is None or sides[1] is None:
                return None
            return sides[0] + sides[1] if isinstance(node, exp.Mul) else max(sides[0], sides[1])
        case exp.Cast() if node.to.is_type("decimal"):
            return _places(node.to.sql(dialect="duckdb"))
        case _:
            return None


def has_two_faces(node: exp.Expr, column_of: ColumnOf) -> bool:
    """True where equal values may not be the same, so that one cannot stand for the others."""
    value = node.unnest()
    if isinstance(value, exp.Div) and isinstance(value.expression, exp.Literal):
        # Of a whole number or a decimal by a positive one: zero has no sign.
        return not is_exact(value.this, column_of)
    for part in value.walk():
        if isinstance(part, exp.Collate | exp.Div) or function_name(part) == "age":
            return True
        kind = ""
        if isinstance(part, exp.Column):
            kind = _type_of(part, column_of) or ""
        elif isinstance(part, exp.DataType):
            kind = part.sql(dialect="duckdb").upper()
        if any(name in kind for name in _TWO_FACED):
            return True
    return False


def _results(node: exp.Expr) -> list[exp.Expr] | None:
    """What a value is made of or chosen from, if it is as exact as these."""
    match node:
        case exp.Paren() | exp.Neg() | exp.Abs() | exp.Nullif():
            return [node.this]
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            return [node.this, *node.expressions]
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            return [node.this, node.expression]
        case exp.If():
            other = node.args.get("false")
            return [node.args["true"], *([] if other is None else [other])]
        case exp.Case():
            default = node.args.get("default")
            found = [branch.args["true"] for branch in node.args["ifs"]]
            return found if default is None else [*found, default]
        case exp.Null():
            return []
        case _:
            return None


def _type_of(node: exp.Column, column_of: ColumnOf) -> str | None:
    found = column_of(node)
    if found is None:
        return None
    kind = found.type.upper()
    return kind.partition("(")[0].strip() if kind.startswith("DECIMAL") else kind


def _places(kind: str) -> int:
    """Digits behind the point of a decimal type."""
    _, _, arguments = kind.partition("(")
    return int(arguments.rstrip(") ").split(",")[-1]) if "," in arguments else 0
