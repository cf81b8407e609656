"""PIVOT with ORDER BY, behind AS and INSERT INTO t, ``ON x > 1``, ``USING sum(x) + 1``, without ON.

sqlglot reads none of the first, which tokens are put into a form for that it does read:
``FROM (PIVOT t ON ..) ORDER BY ..``, ``ON (x > 1)``. The last one is a GROUP BY. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_BEHIND = frozenset({TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET})
_PIVOTS = frozenset({TokenType.PIVOT, TokenType.UNPIVOT})
_ENDS_VALUES = _BEHIND | _CLOSING | {TokenType.GROUP_BY}
_COMPARING = frozenset(
    {TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE}
    | {TokenType.AND, TokenType.OR, TokenType.IS, TokenType.LIKE}
)
_OPERATORS = _COMPARING | {
    *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.DPIPE),
    *(TokenType.MOD, TokenType.DIV),
}
_QUERYING = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.VALUES, TokenType.WITH})


def bracket_pivot(tokens: list[Token]) -> list[Token]:
    """The tokens with each PIVOT that is a query in brackets.

    One that is the whole statement, or stands in brackets, needs them where an order or a limit is
    behind it; the query of a CREATE needs them always.
    """
    for start in reversed(range(len(tokens))):
        if tokens[start].token_type not in _PIVOTS:
            continue
        before = tokens[start - 1].token_type if start else None
        behind_with = before is TokenType.R_PAREN and tokens[0].token_type is TokenType.WITH
        if behind_with:  # A PIVOT behind a subquery has parentheses.
            behind_with = start + 1 < len(tokens) and tokens[start + 1].text != "("
        fills = _fills(tokens, start)
        if not (behind_with or fills) and before not in {None, TokenType.ALIAS, TokenType.L_PAREN}:
            continue
        tokens = _enclosed(tokens, _items(tokens, *_values_of(tokens, start)), _OPERATORS)
        tokens = _enclosed(tokens, _items(tokens, *_choices_of(tokens, start)), _COMPARING)
        ends_at, is_ordered = _end_of(tokens, start)
        if is_ordered or fills or before is TokenType.ALIAS:
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


def group_instead(ast: exp.Expr) -> exp.Expr:
    """The statement with a query in the place of each PIVOT that is ON nothing: there is no column
    whose values would become columns, and only groups are left.
    """
    for pivot in list(ast.find_all(exp.Pivot)):
        if pivot.args.get("this") is None or pivot.expressions or pivot.args.get("unpivot"):
            continue
        group = pivot.args.get("group")
        by = [] if group is None else group.expressions
        query = exp.select(*(e.copy() for e in by), *(pivot.args.get("using") or []))
        query.set("group", group)
        query.set("with_", pivot.args.get("with_"))
        query = query.from_(pivot.this, copy=False)
        if pivot is ast:
            return query
        pivot.replace(query)
    return ast


def _fills(tokens: list[Token], start: int) -> bool:
    """True for the PIVOT of ``INSERT INTO t PIVOT ..``."""
    if tokens[0].token_type is not TokenType.INSERT or tokens[start - 1].text.upper() == "INTO":
        return False
    return not any(token.token_type in _QUERYING for token in tokens[:start])


def _enclosed(
    tokens: list[Token], items: list[tuple[int, int]], operators: frozenset[TokenType]
) -> list[Token]:
    """The tokens with parentheses around each item that has an operator in it."""
    for first, behind in reversed(items):
        depth, operates, ends_at = 0, False, behind
        for place in range(first, behind):
            kind = tokens[place].token_type
            if depth == 0 and kind in {TokenType.ALIAS, TokenType.IN}:
                ends_at = place
                break
            operates |= depth == 0 and place > first and kind in operators
            depth += (kind in _OPENING) - (kind in _CLOSING)
        if operates:
            closed = _like(tokens[ends_at - 1], TokenType.R_PAREN, ")")
            opened = _like(tokens[first], TokenType.L_PAREN, "(")
            inside = tokens[first:ends_at]
            tokens = [*tokens[:first], opened, *inside, closed, *tokens[ends_at:]]
    return tokens


def _choices_of(tokens: list[Token], start: int) -> tuple[int, int]:
    """Where the list behind the ON of a PIVOT begins and ends; the same place without one."""
    depth = 0
    begins = None
    for place in range(start, len(tokens)):
        kind = tokens[place].token_type
        if depth == 0 and (kind in _ENDS_VALUES or kind is TokenType.USING):
            return place if begins is None else begins, place
        if depth == 0 and kind is TokenType.ON and begins is None:
            begins = place + 1
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return len(tokens) if begins is None else begins, len(tokens)


def _values_of(tokens: list[Token], start: int) -> tuple[int, int]:
    """Where the values behind the USING of a PIVOT begin and end; the same place without one."""
    depth = 0
    begins = None
    for place in range(start, len(tokens)):
        kind = tokens[place].token_type
        if depth == 0 and kind in _ENDS_VALUES:
            return place if begins is None else begins, place
        if depth == 0 and kind is TokenType.USING:
            begins = place + 1
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return len(tokens) if begins is None else begins, len(tokens)


def _items(tokens: list[Token], begins: int, end: int) -> list[tuple[int, int]]:
    """The places of the items of a list, without its commas."""
    if begins == end:
        return []
    depth = 0
    ends: list[int] = []
    for place in range(begins, end):
        kind = tokens[place].token_type
        if depth == 0 and kind is TokenType.COMMA:
            ends.append(place)
        depth += (kind in _OPENING) - (kind in _CLOSING)
    firsts = [begins, *(place + 1 for place in ends)]
    return list(zip(firsts, [*ends, end], strict=True))


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
