r"""Bytes as PostgreSQL's SQL writes them, as the canonical dialect writes them.

PostgreSQL: ``'\xdead'``, all of them in hexadecimal digits, or ``'a\336\255'``, odd ones as three
octal digits. The canonical dialect: ``'\xDE\xAD'``. Pure.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_HEX = re.compile(r"\\x((?:\s*[0-9A-Fa-f]{2})*)\s*")
_ODD = re.compile(rb"\\(?:\\|([0-3][0-7]{2}))?")
_PLAIN = frozenset(range(32, 127)) - {ord("\\")}
_OTHER = re.compile(r"[^ -~]|\\")
"""What the canonical dialect does not write as it stands."""
_MEANT = "palimpsest_bytea"


def may_be_marked(text: str) -> bool:
    """False for a statement in which ``mark`` finds nothing."""
    return "\\" in text or not text.isascii()


def mark(tree: exp.Expr) -> exp.Expr:
    """Note on texts with other signs whose they are, and convert those that are cast to bytes."""
    for literal in tree.find_all(exp.Literal):
        if literal.is_string and _OTHER.search(literal.name):
            literal.meta[_MEANT] = True
            holder = literal.parent
            if isinstance(holder, exp.Cast) and holder.to.this is exp.DType.VARBINARY:
                converted(literal)
    return tree


def converted(literal: exp.Expr) -> exp.Expr:
    """A text that becomes bytes: one of PostgreSQL's as the canonical dialect writes it."""
    if literal.meta.pop(_MEANT, False):
        data = _bytes(literal.name)
        literal.set("this", "".join(chr(b) if b in _PLAIN else f"\\x{b:02X}" for b in data))
    return literal


def _bytes(text: str) -> bytes:
    if text.startswith("\\x"):
        found = _HEX.fullmatch(text)
        if found is None:
            raise _no_bytes(text, Code.SETTING_VALUE)
        return bytes.fromhex(found[1])

    def read(odd: re.Match[bytes]) -> bytes:
        if odd[0] == b"\\":
            raise _no_bytes(text)
        return b"\\" if odd[1] is None else bytes([int(odd[1], 8)])

    return _ODD.sub(read, text.encode())


def _no_bytes(text: str, code: Code = Code.CONVERSION) -> PalimpsestError:
    return PalimpsestError(
        code,
        f"'{text}' is not a bytea value",
        advice=r"write '\xdeadbeef', two hexadecimal digits for each byte",
    )
