"""Tokens of a text, also behind words after which sqlglot's tokenizers take the rest as raw text.

A dialect's tokenizer leaves off at ``CALL``, ``EXPLAIN``, ``VACUUM`` and the like; here it goes on,
and those words are ordinary ones. Pure.
"""

from __future__ import annotations

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.sql import dialects

_RAW = frozenset({TokenType.COMMAND, TokenType.SHOW, TokenType.REPLACE})
"""REPLACE is one where a statement begins with it."""


def tokenize(text: str, dialect: str) -> list[Token]:
    """Tokens of ``text``, in a dialect by sqlglot's name for it."""
    try:
        tokens = dialects.tokens(text, dialect)
    except TokenError as error:
        raise PalimpsestError(
            Code.SYNTAX,
            str(error).strip().splitlines()[0],
            advice="check that every quote and comment is closed",
        ) from error
    for index, token in enumerate(tokens):
        if token.token_type not in _RAW:
            continue
        if token.token_type is not TokenType.REPLACE or _is_first(tokens, index):
            tokens[index] = Token(
                TokenType.VAR, token.text, token.line, token.col, token.start, token.end
            )
    return tokens


def _is_first(tokens: list[Token], index: int) -> bool:
    return index == 0 or tokens[index - 1].token_type is TokenType.SEMICOLON
