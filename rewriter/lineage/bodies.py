"""Statements that stand in a string: those of functions, DO and EXECUTE IMMEDIATE, and those that
the tokenizer leaves as one string after a first word that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

_LEFT_AS_ONE = frozenset({"BEGIN", "EXPLAIN"})
_STRINGS = frozenset({TokenType.HEREDOC_STRING, TokenType.RAW_STRING, TokenType.STRING})
_READABLE = frozenset({"SQL", "PLPGSQL"})
_MADE = frozenset({"FUNCTION", "PROCEDURE", "TASK"})


def words_after(part: list[Token], dialect: Dialect, text: str) -> list[Token]:
    """A statement in all of its words, where the tokenizer left what follows the first as one.

    ``REPLACE INTO`` becomes the INSERT that it is.
    """
    first = part[0].text.upper()
    if len(part) != 2 or part[1].token_type is not TokenType.STRING:
        return part
    rest = part[1].text
    if first == "REPLACE" and rest[:4].upper() == "INTO":
        head = Token(
            *(TokenType.INSERT, "INSERT", part[0].line, part[0].col),
            *(part[0].start, part[0].end),
        )
    elif first in _LEFT_AS_ONE:
        head = part[0]
    else:
        return part
    return [head, *_shifted(dialect.tokenize(rest), text, text.find(rest, part[0].end + 1))]


def _shifted(tokens: list[Token], text: str, begin: int) -> list[Token]:
    if begin < 0:
        return tokens
    lines = text.count("\n", 0, begin)
    return [
        Token(t.token_type, t.text, t.line + lines, t.col, t.start + begin, t.end + begin)
        for t in tokens
    ]


def body_of(part: Sequence[Token]) -> tuple[str, int] | None:
    """The statements that stand in a string of a statement, and the line before them; None for a
    statement without any that can be read, as a function in another language than SQL."""
    words = [token.text.upper() for token in part]
    if words[0] in {"DO", "EXECUTE"}:
        at = 2 if words[1:2] == ["IMMEDIATE"] else 1
        if words[0] == "EXECUTE" and at == 1:
            return None
    elif words[0] in {"CREATE", "ALTER"} and not _MADE.isdisjoint(words[:6]) and "AS" in words:
        at = words.index("AS") + 1
    else:
        return None
    languages = [after for word, after in pairwise(words) if word == "LANGUAGE"]
    if not all(language.strip("'\"") in _READABLE for language in languages):
        return None
    if at >= len(part) or part[at].token_type not in _STRINGS:
        return None
    found = part[at].text
    tag = found.find("$", 1)
    if found.startswith("$") and tag > 0 and found.endswith(found[: tag + 1]):
        found = found[tag + 1 : -tag - 1]
    return found, part[at].line - 1


def has_body(part: Sequence[Token]) -> bool:
    """Whether statements may stand in a string of a statement, in whatever language."""
    words = [token.text.upper() for token in part]
    return any(
        token.token_type in _STRINGS and before == "AS"
        for before, token in zip(words, part[1:], strict=False)
    )
