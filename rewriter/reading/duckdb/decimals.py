"""How many digits DuckDB's DECIMALs have. Pure: types as texts.

1.50                    DECIMAL(3,2)
DECIMAL(3,2) + INTEGER  DECIMAL(13,2)
DECIMAL(3,2), INTEGER   together DECIMAL(12,2)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

_MAX = 38
_SMALL = 18
_WIDTHS = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INTEGER": 10,
    "INT": 10,
    "BIGINT": 19,
    "HUGEINT": 38,
    "INT128": 38,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+)(?:, ?(\d+))?\)")


def literal_decimal(text: str) -> str | None:
    """The type of a number that is written out with a point; None for others."""
    whole, point, rest = text.partition(".")
    width = len(whole) + len(rest)
    is_plain = point and (whole + rest).isdigit() and width <= _MAX
    return f"DECIMAL({width},{len(rest)})" if is_plain else None


def made_decimal(node: exp.Expr, left: str | None, right: str | None) -> str | None:
    """The type of a sum, difference, product or remainder; None where it is no DECIMAL."""
    if not (_is_decimal(left) or _is_decimal(right)):
        return None
    one, other = _digits(left), _digits(right)
    if one is None or other is None:
        return None
    if isinstance(node, exp.Mul):
        scale = one[1] + other[1]
        return _named(_kept_small(one[0] + other[0], scale, one, other), scale)
    scale = max(one[1], other[1])
    width = max(one[0] - one[1], other[0] - other[1]) + scale
    if isinstance(node, exp.Add | exp.Sub):
        width = _kept_small(width + 1, scale, one, other)
    return _named(width, scale)


def _kept_small(width: int, scale: int, *sides: tuple[int, int]) -> int:
    """The width of a result, which is one of 64 bits as long as both sides are."""
    is_small = width > _SMALL > scale and all(side[0] <= _SMALL for side in sides)
    return _SMALL if is_small else width


def summed_decimal(kind: str | None) -> str | None:
    """The type of a sum of DECIMALs; None for other types."""
    found = _digits(kind) if _is_decimal(kind) else None
    return None if found is None else _named(_MAX, found[1])


def rounded_decimal(node: exp.Expr, kind: str | None) -> str | None:
    """The type of a DECIMAL without some of its digits, which only a constant tells."""
    found = _digits(kind) if _is_decimal(kind) else None
    places = node.args.get("decimals") or exp.Literal.number(0)
    sign, number = (-1, places.this) if isinstance(places, exp.Neg) else (1, places)
    if found is None or not (isinstance(number, exp.Literal) and number.is_int):
        return None
    return _named(found[0], min(found[1], max(sign * int(number.name), 0)))


def common_decimal(kinds: Sequence[str | None]) -> str | None:
    """The type of DECIMALs and whole numbers together; None without a DECIMAL, or with others."""
    found = [_digits(kind) for kind in kinds]
    if not any(map(_is_decimal, kinds)):
        return None
    known = [digits for digits in found if digits is not None]
    if len(known) < len(found):
        return None
    scale = max(places for _, places in known)
    return _named(max(width - places for width, places in known) + scale, scale)


def _is_decimal(kind: str | None) -> bool:
    return kind is not None and _DECIMAL.fullmatch(kind) is not None


def _digits(kind: str | None) -> tuple[int, int] | None:
    if kind in _WIDTHS:
        return _WIDTHS[kind], 0
    found = _DECIMAL.fullmatch(kind or "")
    return None if found is None else (int(found[1]), int(found[2] or 0))


def _named(width: int, scale: int) -> str | None:
    return f"DECIMAL({min(width, _MAX)},{scale})" if scale <= _MAX else None
