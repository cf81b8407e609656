"""``BIGINT ARRAY``, of which sqlglot takes what stands behind into the type: as ``BIGINT[]``.

Works on tokens; ``BIGINT ARRAY[3]`` and ``ARRAY[1, 2]`` stay as they are. Pure.
"""

from __future__ import annotations

from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

_WITH_VALUES = frozenset({TokenType.L_BRACKET, TokenType.L_PAREN, TokenType.DOT})
_BEFORE_TYPES = frozenset({TokenType.DCOLON, TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER})
"""What stands before a type: a cast, or the name of a column. Elsewhere ``date array`` is a column
``date`` and its alias."""
_BEHIND = 2
"""Tokens that stand before ARRAY at least."""
_TYPES = Parser.TYPE_TOKENS - {TokenType.ARRAY, TokenType.VAR, TokenType.IDENTIFIER}


def bracket_array_types(tokens: list[Token]) -> list[Token]:
    """The tokens with brackets for each ARRAY that ends a type."""
    kept: list[Token] = []
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.ARRAY and _ends_type(tokens, place):
            kept += [
                Token(kind, text, token.line, token.col, token.start, token.end)
                for kind, text in ((TokenType.L_BRACKET, "["), (TokenType.R_BRACKET, "]"))
            ]
        else:
            kept.append(token)
    return kept


def _ends_type(tokens: list[Token], place: int) -> bool:
    if place < _BEHIND or tokens[place - 1].token_type not in _TYPES:
        return False
    if tokens[place - 2].token_type not in _BEFORE_TYPES:
        return False
    return place + 1 == len(tokens) or tokens[place + 1].token_type not in _WITH_VALUES
