"""Literals of bytes in the canonical dialect, which writes ``\\xNN`` for each odd one. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

_ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})")


def literal_bytes(node: exp.Cast) -> bytes | None:
    """The bytes that a cast of a text literal means; None for other casts."""
    value = node.this
    if node.to.this is not exp.DType.VARBINARY or not isinstance(value, exp.Literal):
        return None
    if not value.is_string:
        return None
    parts = _ESCAPED.split(value.name)
    return b"".join(
        bytes.fromhex(part) if odd % 2 else part.encode() for odd, part in enumerate(parts)
    )
