"""Numbers with all digits that PostgreSQL's arithmetic gives them, for stores with fewer. Pure.

DuckDB has two sizes of decimals: a product of two of at most 18 digits gets 18, and fails where it
has more. If one factor has 19 digits, the product has as many as both together, up to 38. A
constant beside a SMALLINT is of this type there, and an INTEGER in PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_WHOLE_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "INT": 10}
_SMALL = frozenset({"TINYINT", "SMALLINT"})
_INTEGER_MAX = 2**31 - 1
_SMALL_DIGITS = 18
"""As many as a decimal of the smaller size has at most."""


def widened_factor(sides: Mapping[str, exp.Expr], kinds: Mapping[str, str]) -> dict[str, exp.Expr]:
    """The factor that is cast to a wider type, by its place; none where the product fits.

    >>> from sqlglot import parse_one
    >>> product = parse_one("a * b")
    >>> sides = {"this": product.this, "expression": product.expression}
    >>> found = widened_factor(sides, dict.fromkeys(sides, "DECIMAL(15, 2)"))
    >>> found["this"].sql(dialect="duckdb")
    'CAST(a AS DECIMAL(19, 2))'
    """
    sizes = {name: _size(kind, sides[name]) for name, kind in kinds.items()}
    is_decimal = any(kind.startswith("DECIMAL") for kind in kinds.values())
    if not is_decimal or None in sizes.values():
        return {}
    digits = [size[0] for size in sizes.values() if size is not None]
    if max(digits) > _SMALL_DIGITS or sum(digits) <= _SMALL_DIGITS:
        return {}
    for name, side in sides.items():
        # Of other expressions, and of the columns that they are, nobody told the digits.
        if isinstance(side, exp.Column | exp.Cast) and kinds[name] != "DECIMAL":
            fraction = (sizes[name] or (0, 0))[1]
            kind = f"DECIMAL({_SMALL_DIGITS + 1}, {fraction})"
            return {name: exp.cast(side.copy(), kind, dialect="duckdb")}
    return {}


def whole_constants(sides: Mapping[str, exp.Expr], kinds: Mapping[str, str]) -> dict[str, exp.Expr]:
    """The constants beside a SMALLINT as INTEGER, by their places.

    >>> from sqlglot import parse_one
    >>> total = parse_one("a + 1")
    >>> sides = {"this": total.this, "expression": total.expression}
    >>> found = whole_constants(sides, {"this": "SMALLINT", "expression": "INTEGER"})
    >>> found["expression"].sql(dialect="duckdb")
    'CAST(1 AS INT)'
    """
    found: dict[str, exp.Expr] = {}
    for name, other in (("this", "expression"), ("expression", "this")):
        side = sides[name].unnest()
        number = side.this.unnest() if isinstance(side, exp.Neg) else side
        if kinds[other] in _SMALL and isinstance(number, exp.Literal) and number.is_int:
            if int(number.name) <= _INTEGER_MAX:
                found[name] = exp.cast(side.copy(), "INT", dialect="duckdb")
    return found


def _size(kind: str, side: exp.Expr) -> tuple[int, int] | None:
    """The digits of a number's type, and how many stand behind the point; None for other types."""
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return int(decimal[1]), int(decimal[2])
    if kind == "DECIMAL":
        # What is computed may have any number of digits.
        digits = len(side.name) if isinstance(side, exp.Literal) else _SMALL_DIGITS
        return digits, 0
    whole = _WHOLE_DIGITS.get(kind)
    return None if whole is None else (whole, 0)
