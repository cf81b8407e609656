"""Limits the nesting of a statement by its tokens, before any parser recurses.

The parser descends once per bracket, tries a chain of joins without conditions in every possible
nesting, and takes a chain of subscripts apart again and again: each has its limit here, since the
compiled parser would overflow the stack, or never come back. Pure; knows no grammar beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from rewriter.limits import Limits
from rewriter.name_resolution import token_position

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_CONDITIONS = frozenset({TokenType.ON, TokenType.USING})
_UNCONDITIONAL = frozenset({TokenType.CROSS, TokenType.NATURAL})
_ENDING = frozenset({TokenType.COMMA, TokenType.SELECT, TokenType.WHERE})
_COUNTED = _OPENING | _CLOSING | _CONDITIONS | _ENDING | {TokenType.JOIN}

_OPEN_JOINS_MAX = 12
"""Joins in a row that wait for their ON; each doubles the nestings the parser tries."""


def check_nesting(tokens: Sequence[Token], limits: Limits) -> None:
    """Raise NESTING_TOO_DEEP unless the parser can take the statement safely."""
    depth = 0
    waiting = [0]
    subscripts = 0
    kind: TokenType | None = None
    for token in tokens:
        before, kind = kind, token.token_type
        if kind not in _COUNTED:
            continue
        if kind in _OPENING:
            depth += 1
            waiting.append(0)
            chained = kind is TokenType.L_BRACKET and before is TokenType.R_BRACKET
            subscripts = subscripts + 1 if chained else 0
            if max(depth, subscripts) > limits.nesting_depth:
                raise too_deep(limits, token_position(token))
        elif kind in _CLOSING:
            depth -= 1
            if len(waiting) > 1:
                waiting.pop()
        elif kind is TokenType.JOIN and before not in _UNCONDITIONAL:
            waiting[-1] += 1
            if waiting[-1] > _OPEN_JOINS_MAX:
                raise _too_many_joins(token_position(token))
        elif kind in _CONDITIONS:
            waiting[-1] = max(0, waiting[-1] - 1)
        elif kind in _ENDING:
            waiting[-1] = 0


def too_deep(limits: Limits, position: Position | None = None) -> PalimpsestError:
    """The error of a statement that is nested deeper than the limit."""
    return PalimpsestError(
        Code.NESTING_TOO_DEEP,
        f"the statement is nested more than {limits.nesting_depth} levels deep",
        advice="split it, use CTEs, or write long lists as IN (...) or a joined VALUES table",
        position=position,
    )


def _too_many_joins(position: Position) -> PalimpsestError:
    return PalimpsestError(
        Code.NESTING_TOO_DEEP,
        f"more than {_OPEN_JOINS_MAX} joins in a row have no ON or USING",
        advice="give each JOIN its condition right behind its table, or write CROSS JOIN",
        position=position,
    )
