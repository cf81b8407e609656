"""``t AS x FOR SYSTEM_TIME ..`` read as ``t FOR SYSTEM_TIME .. AS x``, the order sqlglot takes.

Works on tokens: the alias moves behind the clause. Pure.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_CLAUSES = frozenset({"SYSTEM_TIME", "SYSTEM_VERSION"})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_ENDS = frozenset(
    {
        *(TokenType.COMMA, TokenType.R_PAREN, TokenType.WHERE, TokenType.JOIN, TokenType.LEFT),
        *(TokenType.RIGHT, TokenType.INNER, TokenType.FULL, TokenType.CROSS, TokenType.ON),
        *(TokenType.USING, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING),
        *(TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.UNION, TokenType.EXCEPT),
        *(TokenType.INTERSECT, TokenType.QUALIFY, TokenType.WINDOW, TokenType.NATURAL),
        *(TokenType.ASOF, TokenType.LATERAL, TokenType.PIVOT, TokenType.UNPIVOT),
        *(TokenType.TABLE_SAMPLE, TokenType.WHEN, TokenType.SET, TokenType.RETURNING),
    }
)
"""What ends the expression of a point in time."""


def aliases_last(tokens: list[Token]) -> list[Token]:
    """The tokens with aliases moved behind time travel clauses that follow them."""
    places = [i for i, t in enumerate(tokens) if i > 2 and t.text.upper() in _CLAUSES]
    for place in reversed(places):
        start = _alias_before(tokens, place - 1)
        if start is not None:
            clause = place - 1
            end = _end_of(tokens, clause)
            alias = tokens[start:clause]
            tokens = [*tokens[:start], *tokens[clause:end], *alias, *tokens[end:]]
    return tokens


def _alias_before(tokens: list[Token], clause: int) -> int | None:
    """Where the alias before a clause begins, its AS included."""
    if (
        tokens[clause].token_type is not TokenType.FOR
        or tokens[clause - 1].token_type not in _NAMES
    ):
        return None
    before = tokens[clause - 2].token_type
    if before is TokenType.ALIAS:
        return clause - 2
    return clause - 1 if before in _NAMES else None


def _end_of(tokens: list[Token], clause: int) -> int:
    depth = 0
    for index in range(clause + 2, len(tokens)):
        kind = tokens[index].token_type
        if depth == 0 and kind in _ENDS:
            return index
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
    return len(tokens)
