"""Spellings of INSERT that sqlglot does not parse: OVERRIDING .. VALUE, and REPLACE INTO.

They are taken out of the tokens before parsing and set on the INSERT afterwards. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.errors import Code, PalimpsestError, Position


@dataclass(frozen=True, slots=True)
class InsertMarks:
    """What was taken out of an INSERT's tokens."""

    overriding: str = ""
    replacing: bool = False


def without_marks(tokens: Sequence[Token]) -> tuple[list[Token], InsertMarks]:
    """The tokens that sqlglot can parse, and what they lost."""
    words = [t.text.upper() for t in tokens]
    replacing = words[:2] == ["REPLACE", "INTO"]
    kept = list(tokens)
    if replacing:
        first = tokens[0]
        kept[0] = Token(TokenType.INSERT, "INSERT", first.line, first.col, first.start, first.end)
    elif "INSERT" not in words:
        return kept, InsertMarks()
    overriding = ""
    for index in [i for i, word in enumerate(words) if word == "OVERRIDING"]:
        behind = words[index + 1 : index + 3]
        if behind in (["SYSTEM", "VALUE"], ["USER", "VALUE"]):
            overriding = behind[0]
            del kept[index : index + 3]
            break
    return kept, InsertMarks(overriding, replacing)


def set_marks(ast: exp.Expr, marks: InsertMarks, first: Token) -> exp.Expr:
    """Put what was taken out on the INSERT."""
    if marks == InsertMarks():
        return ast
    if not isinstance(ast, exp.Insert):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "OVERRIDING .. VALUE may stand only in an INSERT by itself",
            advice="put the INSERT first in the statement",
            position=Position(first.line, max(1, first.col - len(first.text) + 1)),
        )
    ast.set("overriding", marks.overriding or None)
    ast.set("replacing", marks.replacing or None)
    return ast
