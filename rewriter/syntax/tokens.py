"""Tokens of a text, also behind words after which sqlglot's tokenizers take the rest as raw text.

A dialect's tokenizer leaves off at ``CALL``, ``EXPLAIN``, ``VACUUM`` and the like; here it goes on,
and those words are ordinary ones. Pure.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from journal.sql import dialects
from rewriter.name_resolution import token_position

_RAW = frozenset({TokenType.COMMAND, TokenType.SHOW, TokenType.REPLACE})
"""REPLACE is one where a statement begins with it."""
_TYPES = frozenset({TokenType.TEXT, TokenType.DATE, TokenType.JSON})
"""Types whose names are good names of columns; ``str`` is one to sqlglot."""
_BEFORE_VALUES = frozenset(
    {TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.LT, TokenType.GTE, TokenType.LTE}
    | {TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.DPIPE}
    | {TokenType.L_BRACKET}
)
_MARK = re.compile(r"['\"`$]|/\*")
_MARKS_MAX = 200
_WORDS_BEFORE_VALUES = frozenset(
    "SELECT DISTINCT WHERE AND OR NOT ON HAVING BY CASE WHEN THEN ELSE BETWEEN IN LIKE".split()
)


def tokenize(text: str, dialect: str) -> list[Token]:
    """Tokens of ``text``, in a dialect by sqlglot's name for it."""
    try:
        tokens = dialects.tokens(text, dialect)
    except TokenError as error:
        raise _open_quote(text, dialect, error) from error
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind in _TYPES and _is_subscripted(tokens, index):
            tokens[index] = _word(token)
        if kind not in _RAW:
            continue
        if token.token_type is not TokenType.REPLACE or _is_first(tokens, index):
            tokens[index] = _word(token)
    return _without_hex(tokens) if dialect == "duckdb" else tokens


def check_commas(tokens: list[Token], dialect: str) -> None:
    """Raise SYNTAX where nothing stands behind a comma, which sqlglot's lists pass over.

    In DuckDB's dialect a comma may end a list.
    """
    ends = {TokenType.COMMA} if dialect == "duckdb" else {TokenType.COMMA, TokenType.R_PAREN}
    for before, token in pairwise(tokens):
        if before.token_type is TokenType.COMMA and token.token_type in ends:
            raise PalimpsestError(
                Code.SYNTAX,
                f'nothing stands behind a comma near "{token.text}"',
                advice="write what is missing, or take one comma away",
                position=token_position(token),
            )


def _open_quote(text: str, dialect: str, error: TokenError) -> PalimpsestError:
    """What to say of a text whose quote or comment has no end."""
    advice = "check that every quote and comment is closed"
    opened = _open_at(text, dialect)
    if opened is None:
        return PalimpsestError(Code.SYNTAX, str(error).strip().splitlines()[0], advice=advice)
    line = text.count("\n", 0, opened) + 1
    column = opened - (text.rfind("\n", 0, opened) + 1) + 1
    what = "comment" if text.startswith("/*", opened) else "quote"
    return PalimpsestError(
        Code.SYNTAX, f"a {what} is not closed", advice=advice, position=Position(line, column)
    )


def _open_at(text: str, dialect: str) -> int | None:
    """Where the quote or comment begins that has no end: what is before it has tokens."""
    marks = [m.start() for m in _MARK.finditer(text)]
    for place in reversed(marks[-_MARKS_MAX:]):
        if text[place] == text[place - 1 : place]:
            continue  # A doubled quote opens nothing.
        try:
            dialects.tokens(text[:place], dialect)
        except TokenError:
            continue
        return place
    return None


def _without_hex(tokens: list[Token]) -> list[Token]:
    """DuckDB's ``X'FF'``, which sqlglot does not know, as ``unhex('FF')``."""
    places = [i for i, t in enumerate(tokens) if t.text in {"x", "X"} and _is_hex(tokens, i)]
    for place in reversed(places):
        word, digits = tokens[place : place + 2]
        tokens[place : place + 2] = [
            _word(word, "unhex"),
            _word(word, "(", TokenType.L_PAREN),
            digits,
            _word(word, ")", TokenType.R_PAREN),
        ]
    return tokens


def _is_hex(tokens: list[Token], place: int) -> bool:
    after = tokens[place + 1 : place + 2]
    word = tokens[place]
    is_next = bool(after) and after[0].start == word.end + 1
    return is_next and after[0].token_type is TokenType.STRING


def _word(token: Token, text: str = "", kind: TokenType = TokenType.VAR) -> Token:
    return Token(kind, text or token.text, token.line, token.col, token.start, token.end)


def _is_subscripted(tokens: list[Token], index: int) -> bool:
    """True for a column that is called as a type: ``SELECT text[1]``, not ``x::text[1]``."""
    if index == 0 or [t.text for t in tokens[index + 1 : index + 2]] != ["["]:
        return False
    before = tokens[index - 1]
    return before.token_type in _BEFORE_VALUES or before.text.upper() in _WORDS_BEFORE_VALUES


def _is_first(tokens: list[Token], index: int) -> bool:
    return index == 0 or tokens[index - 1].token_type is TokenType.SEMICOLON
