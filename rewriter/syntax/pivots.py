"""``PIVOT t ON .. ORDER BY ..`` and ``.. AS PIVOT t ON ..``: as queries over the pivot.

sqlglot reads neither. Works on tokens: ``FROM (PIVOT t ON ..) ORDER BY ..``. Pure.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_BEHIND = frozenset({TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET})
_PIVOTS = frozenset({TokenType.PIVOT, TokenType.UNPIVOT})


def bracket_pivot(tokens: list[Token]) -> list[Token]:
    """The tokens with each PIVOT that is a query in brackets.

    One that is the whole statement, or stands in brackets, needs them where an order or a limit is
    behind it; the query of a CREATE needs them always.
    """
    for start in reversed(range(len(tokens))):
        if tokens[start].token_type not in _PIVOTS:
            continue
        before = tokens[start - 1].token_type if start else None
        if before not in {None, TokenType.ALIAS, TokenType.L_PAREN}:
            continue
        ends_at, is_ordered = _end_of(tokens, start)
        if is_ordered or before is TokenType.ALIAS:
            first = tokens[start]
            tokens = [
                *tokens[:start],
                _like(first, TokenType.FROM, "FROM"),
                _like(first, TokenType.L_PAREN, "("),
                *tokens[start:ends_at],
                _like(tokens[ends_at - 1], TokenType.R_PAREN, ")"),
                *tokens[ends_at:],
            ]
    return tokens


def _end_of(tokens: list[Token], start: int) -> tuple[int, bool]:
    """Where a PIVOT ends, and whether an order or a limit is behind it."""
    depth = 0
    for place in range(start, len(tokens)):
        kind = tokens[place].token_type
        if depth == 0 and kind in _BEHIND:
            return place, True
        if depth == 0 and kind in _CLOSING:
            return place, False
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return len(tokens), False


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
