"""Statements without their literals, as logs, metrics and lists of what runs show them. Pure.

Only what is known to be no value stays: names, words and signs. Comments go, too.
"""

from __future__ import annotations

import hashlib

from sqlglot.tokenizer_core import TokenType

from journal.model.errors import PalimpsestError
from rewriter.syntax.tokens import tokenize

TEXT_MAX = 1_000
"""How much of a statement is shown, in characters."""
READ_MAX = 20_000
"""How much of a statement is looked at; what follows has no share in the digest."""
_VALUES = frozenset(
    kind for kind in TokenType if "STRING" in kind.name or kind.name in {"NUMBER", "PARAMETER"}
)
_BEGIN_VALUES = frozenset("0123456789'$")


def without_literals(text: str, dialect: str) -> str:
    """A statement on one line with ``?`` for each value; its first word if it cannot be read.

    >>> without_literals("SELECT a -- of Ada\\n FROM t WHERE b = 'Ada' AND c > 1.5", "duckdb")
    'SELECT a FROM t WHERE b = ? AND c > ?'
    """
    read = text[:READ_MAX]
    try:
        tokens = tokenize(read, "" if dialect == "ansi" else dialect)
    except PalimpsestError:
        return f"{next(iter(text.split()), '')[:20].upper()} .."
    parts: list[str] = []
    end = 0
    for token in tokens:
        if token.start < end:
            continue  # It was put in for a spelling that the tokenizer lacks.
        piece = read[token.start : token.end + 1]
        is_value = token.token_type in _VALUES or piece[:1] in _BEGIN_VALUES
        if parts and token.start > end:
            parts.append(" ")
        if not (is_value and parts and parts[-1] == "?"):
            # A parameter is a sign and a number, and no value stands right behind another.
            parts.append("?" if is_value else piece)
        end = token.end + 1
    shown = "".join(parts)
    return shown if len(shown) <= TEXT_MAX else f"{shown[:TEXT_MAX]} .."


def shape_digest(shown: str) -> str:
    """Sixteen digits that statements have in common which differ in values and blanks alone."""
    return hashlib.sha256("".join(shown.lower().split()).encode()).hexdigest()[:16]
