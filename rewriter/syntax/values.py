"""``WITH x AS (..) VALUES ..`` and ``CREATE TABLE t AS VALUES ..``: as a query of the rows.

Works on tokens: ``VALUES ..`` becomes ``SELECT * FROM (VALUES ..)``. Pure.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_STATEMENTS = frozenset(
    {TokenType.SELECT, TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE}
    | {TokenType.FROM, TokenType.INTO}
)


def bracket_values(tokens: list[Token]) -> list[Token]:
    """The tokens with brackets around each VALUES behind WITH, or behind the AS of a CREATE."""
    creates = tokens[0].token_type is TokenType.CREATE
    if not creates and not any(t.token_type is TokenType.WITH for t in tokens):
        return tokens
    kept: list[Token] = []
    # One entry a bracket: whether a WITH waits for its query there, and brackets to be closed.
    waiting, owed = [False], [0]
    for token in tokens:
        kind = token.token_type
        if kind in _CLOSING and len(waiting) > 1:
            waiting.pop()
            kept += [_like(token, TokenType.R_PAREN, ")")] * owed.pop()
        if kind is TokenType.WITH:
            waiting[-1] = True
        elif kind in _STATEMENTS:
            waiting[-1] = False
        elif kind is TokenType.VALUES and (
            waiting[-1] or (creates and kept[-1].token_type is TokenType.ALIAS)
        ):
            waiting[-1] = False
            owed[-1] += 1
            kept += [
                _like(token, TokenType.SELECT, "SELECT"),
                _like(token, TokenType.STAR, "*"),
                _like(token, TokenType.FROM, "FROM"),
                _like(token, TokenType.L_PAREN, "("),
            ]
        kept.append(token)
        if kind in _OPENING:
            waiting.append(False)
            owed.append(0)
    return kept + [_like(tokens[-1], TokenType.R_PAREN, ")")] * owed[0]


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
