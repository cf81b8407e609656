"""Finds the place of a value too many in an INSERT's text, or of a column without one.

sqlglot keeps places of names, not of literals, so the tokens of the statement are counted. Pure;
only errors come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from rewriter.name_resolution import token_position

_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSED = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_BEFORE_TABLE = frozenset({TokenType.INTO, TokenType.OVERWRITE})
_AFTER_ITEMS = frozenset(
    {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.RETURNING}
    | {TokenType.ON, TokenType.WINDOW, TokenType.HAVING, TokenType.QUALIFY}
)


class WrongValueCount(PalimpsestError):
    """An INSERT gives a table more or fewer values than the columns that it names.

    ``row`` is the number of the row of VALUES, from 0; None for those of a query.
    """

    def __init__(
        self, table: object, wanted: int, found: int, row: int | None, position: Position | None
    ) -> None:
        were = "was" if found == 1 else "were"
        values = "value" if wanted == 1 else "values"
        super().__init__(
            Code.COLUMN_COUNT,
            f"{table} takes {wanted} {values} here, {found} {were} given",
            advice="name the columns: INSERT INTO t (a, b) ..",
            position=position,
        )
        self.wanted, self.found, self.row = wanted, found, row

    def place_in(self, tokens: Sequence[Token]) -> Position | None:
        """The first value too many; else the first column without a value; else the row.

        ``tokens`` are those of the whole statement. None where they are not as expected.
        """
        if tokens[0].token_type is TokenType.MERGE:
            return self._place_in_merge(tokens)
        start = _after(tokens, _BEFORE_TABLE)
        if start is None:
            return None
        columns, body = _columns(tokens, start)
        if self.row is None:
            items = _query_items(tokens, body)
        else:
            items = _row_items(tokens, body, self.row)
        stars = [item for item in items if item[-1].token_type is TokenType.STAR]
        return token_position(stars[0][0]) if stars else self._place(columns, items)

    def _place_in_merge(self, tokens: Sequence[Token]) -> Position | None:
        for start, token in enumerate(tokens):
            if token.token_type is TokenType.INSERT:
                columns, body = _columns(tokens, start + 1)
                items = _row_items(tokens, body, 0)
                if len(items) == self.found and len(columns) in {0, self.wanted}:
                    return self._place(columns, items)
        return None

    def _place(self, columns: list[list[Token]], items: list[list[Token]]) -> Position | None:
        if self.found > self.wanted:
            return token_position(items[self.wanted][0]) if len(items) > self.wanted else None
        if not self.row and len(columns) > self.found:
            return token_position(columns[self.found][0])
        return token_position(items[0][0]) if items else None


def _after(tokens: Sequence[Token], kinds: frozenset[TokenType]) -> int | None:
    return next((i + 1 for i, t in enumerate(tokens) if t.token_type in kinds), None)


def _columns(tokens: Sequence[Token], start: int) -> tuple[list[list[Token]], int]:
    """The names of the column list, if there is one, and where what follows it begins."""
    for i in range(start, len(tokens)):
        token = tokens[i]
        if token.token_type in {TokenType.VALUES, TokenType.SELECT, TokenType.WITH}:
            return [], i
        if token.token_type is TokenType.L_PAREN:
            after = tokens[i + 1].token_type if i + 1 < len(tokens) else None
            if after in {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}:
                return [], i
            items, end = _items(tokens, i + 1)
            return items, end + 1
    return [], len(tokens)


def _row_items(tokens: Sequence[Token], start: int, row: int) -> list[list[Token]]:
    """The values of one row of VALUES."""
    values = range(start, len(tokens))
    place = next((i + 1 for i in values if tokens[i].token_type is TokenType.VALUES), len(tokens))
    for number in range(row + 1):
        if place >= len(tokens) or tokens[place].token_type is not TokenType.L_PAREN:
            return []
        items, end = _items(tokens, place + 1)
        if number == row:
            return items
        place = end + 2
    return []


def _query_items(tokens: Sequence[Token], start: int) -> list[list[Token]]:
    """What the outermost SELECT, or the first of several, gives."""
    outermost = min(_selects(tokens, start), default=None)
    if outermost is None:
        return []
    first = outermost[1] + 1
    if first < len(tokens) and tokens[first].token_type in {TokenType.DISTINCT, TokenType.ALL}:
        first += 1
    return _items(tokens, first)[0]


def _selects(tokens: Sequence[Token], start: int) -> Iterator[tuple[int, int]]:
    """How deep in parentheses each SELECT stands, and where; those of CTEs are left out."""
    depth = 0
    for i in range(start, len(tokens)):
        kind = tokens[i].token_type
        depth += (kind in _OPEN) - (kind in _CLOSED)
        before = tokens[i - 2].token_type if i > 1 else None
        if kind is TokenType.SELECT and before is not TokenType.ALIAS:
            yield depth, i


def _items(tokens: Sequence[Token], start: int) -> tuple[list[list[Token]], int]:
    """The tokens of each item of a list, and where the list ends."""
    items: list[list[Token]] = [[]]
    depth, place = 0, start
    while place < len(tokens):
        token = tokens[place]
        kind = token.token_type
        if depth == 0 and (kind in _CLOSED or kind in _AFTER_ITEMS):
            break
        depth += (kind in _OPEN) - (kind in _CLOSED)
        if depth == 0 and kind is TokenType.COMMA:
            items.append([])
        else:
            items[-1].append(token)
        place += 1
    return [item for item in items if item], place
