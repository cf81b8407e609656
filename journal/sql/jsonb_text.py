"""The text that PostgreSQL gives a value of jsonb, from any text of JSON. Pure.

>>> jsonb_text('{"bb":1,"a":[1.50,1e2],"a":  null}')
'{"a": null, "bb": 1}'

Keys are in the order of their lengths, then of their bytes; of equal ones the last counts.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_EXPONENT_MAX = 1000
"""Beyond it a number stays as it is written: spelled out it would fill pages."""


def jsonb_text(text: str) -> str | None:
    """The text as PostgreSQL spells that value of jsonb; None if it is no JSON."""
    try:
        value = json.loads(text, parse_float=_number, parse_constant=_refuse)
        spelled = _text_of(value)
        # A half of a surrogate pair is a character of no text.
        spelled.encode()
    except (ValueError, RecursionError):
        return None
    return spelled


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def _number(text: str) -> _Number:
    value = Decimal(text)
    if abs(value.adjusted()) > _EXPONENT_MAX:
        return _Number(text)
    spelled = format(value, "f")
    return _Number(spelled.removeprefix("-") if not value else spelled)


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _text_of(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_text_of(key)}: {_text_of(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
