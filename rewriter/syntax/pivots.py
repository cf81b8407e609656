"""``PIVOT t ON .. ORDER BY .. LIMIT ..``, which sqlglot does not read: as a query over the pivot.

Works on tokens: ``FROM (PIVOT t ON ..) ORDER BY ..``. Pure.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_BEHIND = frozenset({TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET})


def bracket_pivot(tokens: list[Token]) -> list[Token]:
    """The tokens with a statement that pivots in brackets, where an order or a limit is behind."""
    if tokens[0].token_type not in {TokenType.PIVOT, TokenType.UNPIVOT}:
        return tokens
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        if depth == 0 and kind in _BEHIND:
            first = tokens[0]
            return [
                _like(first, TokenType.FROM, "FROM"),
                _like(first, TokenType.L_PAREN, "("),
                *tokens[:place],
                _like(tokens[place - 1], TokenType.R_PAREN, ")"),
                *tokens[place:],
            ]
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return tokens


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
