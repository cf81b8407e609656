"""Clauses of a query out of their order, which the parser takes as if they were in it. Pure.

``SELECT a FROM t LIMIT 1 WHERE a = 3`` is refused, as every database refuses it: whoever writes it
may mean the filter to apply to the rows that are left.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_RANKS = {
    TokenType.WHERE: 1,
    TokenType.GROUP_BY: 2,
    TokenType.HAVING: 3,
    TokenType.ORDER_BY: 6,
    TokenType.LIMIT: 7,
}
_RANKS_OF_WINDOWS = {TokenType.WINDOW: 4, TokenType.QUALIFY: 5}
_BEGINS_ANEW = frozenset(
    {TokenType.SELECT, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}
    | {TokenType.WHEN, TokenType.SET, TokenType.TABLE, TokenType.ON}
)
"""Behind these the clauses of another query, or of another part of a statement, may follow."""
_IS_LABEL = frozenset({TokenType.DOT, TokenType.ALIAS})
"""Behind these a keyword is a name."""
_BEFORE_VALUES = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.EQ}) | _OPENING
_BEHIND_NAMES = frozenset({TokenType.COMMA, TokenType.FROM, TokenType.EQ, *_IS_LABEL}) | _CLOSING
_COUNTS = frozenset(
    {TokenType.NUMBER, TokenType.L_PAREN, TokenType.PARAMETER, TokenType.PLACEHOLDER}
    | {TokenType.COLON, TokenType.VAR, TokenType.ALL, TokenType.NULL}
)
"""What follows a LIMIT that is no name."""


def check_clause_order(tokens: Sequence[Token], dialect: str) -> None:
    """Raise SYNTAX for a clause behind one that it has to precede.

    ``dialect`` is sqlglot's name of it: where WINDOW and QUALIFY stand depends on it.
    """
    ranks = _RANKS | _RANKS_OF_WINDOWS if dialect in {"duckdb", "postgres"} else _RANKS
    last = [0]
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENING:
            last.append(0)
        elif kind in _CLOSING:
            last.pop() if len(last) > 1 else None
        elif kind in _BEGINS_ANEW:
            last[-1] = 0
        elif kind in ranks and _is_clause(tokens, place):
            if ranks[kind] < last[-1]:
                raise PalimpsestError(
                    Code.SYNTAX,
                    f'syntax error at or near "{token.text}"',
                    advice="clauses stand in the order WHERE, GROUP BY, HAVING, WINDOW, QUALIFY,"
                    " ORDER BY, LIMIT",
                    position=token_position(token),
                )
            last[-1] = ranks[kind]


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    """False for a keyword that is a name here."""
    if place and tokens[place - 1].token_type in _IS_LABEL:
        return False
    kind, after = tokens[place].token_type, tokens[place + 1 : place + 4]
    if kind is TokenType.LIMIT:
        return bool(after) and after[0].token_type in _COUNTS
    if kind is TokenType.WINDOW:
        kinds = [token.token_type for token in after[1:]]
        return kinds == [TokenType.ALIAS, TokenType.L_PAREN]
    return kind is not TokenType.QUALIFY or (
        tokens[place - 1].token_type not in _BEFORE_VALUES
        and bool(after)
        and after[0].token_type not in _BEHIND_NAMES
    )
