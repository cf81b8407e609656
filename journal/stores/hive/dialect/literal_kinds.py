"""What type Spark gives a literal, as far as the type of a result may hang on it. Pure.

A parameter stands in a query's text as a literal, so the same query has other types for ``1`` than
for a number of more than 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_INT_BITS, _BIGINT_BITS = 31, 63
LiteralKinds = tuple[object, ...]
"""Equal for values whose literals have the same types."""


def literal_kinds(names: Iterable[str], parameters: Mapping[str, Any]) -> LiteralKinds:
    """The kinds of the literals of some parameters."""
    return tuple(_kind(parameters.get(name)) for name in names)


def _kind(value: Any) -> object:
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        bits = (value if value >= 0 else ~value).bit_length()
        if bits <= _INT_BITS:
            return int
        return "bigint" if bits <= _BIGINT_BITS else ("decimal", len(str(abs(value))), 0)
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        del sign
        return ("decimal", len(digits), exponent)
    if isinstance(value, list | tuple):
        return (list, *dict.fromkeys(map(_kind, value)))
    if isinstance(value, dict):
        return (dict, *((name, _kind(member)) for name, member in value.items()))
    return type(value)
