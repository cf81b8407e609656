"""Spellings of INSERT that sqlglot does not parse: OVERRIDING .. VALUE, REPLACE INTO and others.

They are taken out of the tokens before parsing and set on the INSERT afterwards; but for BY
POSITION, which says what holds anyway, and the parentheses of ``(VALUES ..)``. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.name_resolution import token_position


@dataclass(frozen=True, slots=True)
class InsertMarks:
    """The clauses that ``without_marks`` removed from an INSERT's tokens."""

    overriding: str = ""
    replacing: bool = False


def without_marks(tokens: Sequence[Token]) -> tuple[list[Token], InsertMarks]:
    """The tokens that sqlglot can parse, and the clauses removed from them."""
    words = [t.text.upper() for t in tokens]
    replacing = words[:2] == ["REPLACE", "INTO"]
    kept = list(tokens)
    if replacing:
        first = tokens[0]
        kept[0] = Token(TokenType.INSERT, "INSERT", first.line, first.col, first.start, first.end)
    elif "INSERT" not in words:
        return kept, InsertMarks()
    if replacing or words[0] == "INSERT":
        _drop_needless(kept, words)
        words = [t.text.upper() for t in kept]
    overriding = ""
    if "MERGE" in words and "WHEN" in words:
        return kept, InsertMarks(replacing=replacing)
    for index in [i for i, word in enumerate(words) if word == "OVERRIDING"]:
        behind = words[index + 1 : index + 3]
        if behind in (["SYSTEM", "VALUE"], ["USER", "VALUE"]):
            overriding = behind[0]
            del kept[index : index + 3]
            break
    return kept, InsertMarks(overriding, replacing)


def _drop_needless(tokens: list[Token], words: list[str]) -> None:
    """Take ``BY POSITION`` and the parentheses around VALUES from behind an INSERT's table."""
    place = words.index("INTO") + 2 if "INTO" in words else len(words)
    while words[place : place + 1] == ["."]:
        place += 2
    if words[place : place + 2] == ["BY", "POSITION"]:
        del tokens[place : place + 2]
    elif words[place : place + 2] == ["(", "VALUES"]:
        depth = 0
        for end in range(place, len(words)):
            depth += (words[end] == "(") - (words[end] == ")")
            if depth == 0:
                del tokens[end], tokens[place]
                break


def set_marks(ast: exp.Expr, marks: InsertMarks, first: Token) -> exp.Expr:
    """Set the removed clauses on the INSERT."""
    if marks == InsertMarks():
        return ast
    if not isinstance(ast, exp.Insert):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "OVERRIDING .. VALUE may stand only in an INSERT by itself",
            advice="put the INSERT first in the statement",
            position=token_position(first),
        )
    ast.set("overriding", marks.overriding or None)
    ast.set("replacing", marks.replacing or None)
    return ast
