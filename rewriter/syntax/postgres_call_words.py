"""Words within calls and names that PostgreSQL takes and sqlglot does not, by the tokens. Pure.

trim(both from t, 'xy')                 becomes  btrim(t, 'xy')
substring(t SIMILAR p ESCAPE e)         becomes  substring((t), CAST(p AS TEXT), CAST(e AS TEXT))
FROM ROWS FROM (f(a), g(b)) AS t(x, y)  becomes  FROM LATERAL (SELECT f(a), g(b)) AS t(x, y)
UNIQUE NULLS DISTINCT (a)               becomes  UNIQUE (a)
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position

_TRIMMED = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim", "FROM": "btrim"}
_OPENING = frozenset({"(", "["})
_CLOSING = frozenset({")", "]"})
_ROWS = frozenset(
    {
        *("generate_series", "generate_subscripts", "unnest", "string_to_table"),
        *("regexp_split_to_table", "regexp_matches", "jsonb_path_query"),
        *(f"{kind}_object_keys" for kind in ("json", "jsonb")),
        *(f"{kind}_array_elements" for kind in ("json", "jsonb")),
        *(f"{kind}_array_elements_text" for kind in ("json", "jsonb")),
    }
)
"""Functions of one column and any number of rows, as an output of SELECT gives them too."""


def with_known_calls(tokens: list[Token]) -> list[Token]:
    """The tokens with such calls in words that the parser knows.

    Raises NOT_SUPPORTED for ROWS FROM with functions of several columns, and BIT VARYING.
    """
    words = {token.text.upper() for token in tokens}
    for first, change in _CHANGES:
        if first in words:
            place = len(tokens) - 1
            while place >= 0:
                # From the end on, so that what is within a call is changed before the call.
                if tokens[place].text.upper() == first and tokens[place].token_type not in _TEXTS:
                    tokens = change(tokens, place)
                place -= 1
    return tokens


_TEXTS = frozenset({TokenType.STRING, TokenType.IDENTIFIER})


def _trim(tokens: list[Token], place: int) -> list[Token]:
    """A call with FROM before its arguments, or between two of which the second is a list."""
    end = _end_of_call(tokens, place)
    if end is None:
        return tokens
    side = tokens[place + 2].text.upper()
    start = place + 3 if side in _TRIMMED else place + 2
    if side in _TRIMMED and side != "FROM" and tokens[start].text.upper() == "FROM":
        start += 1
    if start < end and tokens[start - 1].text.upper() == "FROM":
        name = _like(tokens[place], TokenType.VAR, _TRIMMED[side])
        return [*tokens[:place], name, tokens[place + 1], *tokens[start:]]
    return tokens


def _substring(tokens: list[Token], place: int) -> list[Token]:
    end = _end_of_call(tokens, place)
    if end is None:
        return tokens
    similar = _outer(tokens, place + 2, end, "SIMILAR")
    escape = None if similar is None else _outer(tokens, similar, end, "ESCAPE")
    if similar is None or escape is None or tokens[similar + 1].text.upper() == "TO":
        return tokens
    text = tokens[place + 2 : similar]
    parts = (tokens[similar + 1 : escape], tokens[escape + 1 : end])
    at = tokens[similar]
    made = [_like(at, TokenType.L_PAREN, "("), *text, _like(at, TokenType.R_PAREN, ")")]
    for part in parts:
        made += [
            _like(at, TokenType.COMMA, ","),
            _like(at, TokenType.VAR, "cast"),
            _like(at, TokenType.L_PAREN, "("),
            *part,
            _like(at, TokenType.ALIAS, "AS"),
            _like(at, TokenType.TEXT, "TEXT"),
            _like(at, TokenType.R_PAREN, ")"),
        ]
    return [*tokens[: place + 2], *made, *tokens[end:]]


def _rows(tokens: list[Token], place: int) -> list[Token]:
    """``ROWS FROM (f(a), g(b)) WITH ORDINALITY`` as a subquery."""
    if [token.text.upper() for token in tokens[place + 1 : place + 3]] != ["FROM", "("]:
        return tokens
    end = _end_of_call(tokens, place + 1)
    calls = [] if end is None else _parts(tokens, place + 3, end)
    if end is None or not all(_is_call(call) for call in calls):
        return tokens
    rest = tokens[end + 1 :]
    if len(calls) == 1:
        return [*tokens[:place], *calls[0], *rest]
    for call in calls:
        if call[0].text.lower() not in _ROWS:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{call[0].text} in ROWS FROM is not supported",
                advice="take functions that give rows of one column, or join their results",
                position=token_position(call[0]),
            )
    at = tokens[place]
    query = [_like(at, TokenType.SELECT, "SELECT"), *tokens[place + 3 : end]]
    if [token.text.upper() for token in rest[:2]] == ["WITH", "ORDINALITY"]:
        rest = rest[2:]
        query = _numbered(query, at)
    lateral = [] if tokens[place - 1].text.upper() == "LATERAL" else [TokenType.LATERAL]
    return [
        *tokens[:place],
        *(_like(at, kind, "LATERAL") for kind in lateral),
        _like(at, TokenType.L_PAREN, "("),
        *query,
        _like(at, TokenType.R_PAREN, ")"),
        *rest,
    ]


def _is_call(part: Sequence[Token]) -> bool:
    """True for ``f(..)`` and nothing else, unlike ``VALUES (1)`` behind a column ``rows``."""
    if len(part) < _SHORTEST_CALL or part[1].text != "(" or part[0].text.upper() == "VALUES":
        return False
    return _outer(part, 2, len(part), ")") == len(part) - 1


_SHORTEST_CALL = 3
_NUMBER = (
    *((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.COMMA, ",")),
    *((TokenType.VAR, "row_number"), (TokenType.L_PAREN, "("), (TokenType.R_PAREN, ")")),
    *((TokenType.OVER, "OVER"), (TokenType.L_PAREN, "("), (TokenType.R_PAREN, ")")),
    *((TokenType.ALIAS, "AS"), (TokenType.VAR, "ordinality"), (TokenType.FROM, "FROM")),
    (TokenType.L_PAREN, "("),
)
_NUMBERED_END = (
    *((TokenType.R_PAREN, ")"), (TokenType.ALIAS, "AS"), (TokenType.VAR, "rows_from")),
)


def _numbered(query: list[Token], at: Token) -> list[Token]:
    """The rows of a query and the number of each."""
    return [
        *(_like(at, kind, text) for kind, text in _NUMBER),
        *query,
        *(_like(at, kind, text) for kind, text in _NUMBERED_END),
    ]


def _bit(tokens: list[Token], place: int) -> list[Token]:
    """Raise for ``bit varying``: stores keep no empty bits."""
    if place + 1 < len(tokens) and tokens[place + 1].text.upper() == "VARYING":
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "the type BIT VARYING is not supported",
            advice="use BIT(n), or a text with CHECK (b ~ '^[01]*$')",
            position=token_position(tokens[place]),
        )
    return tokens


def _nulls(tokens: list[Token], place: int) -> list[Token]:
    """``UNIQUE NULLS DISTINCT`` says what holds anyway."""
    around = [token.text.upper() for token in tokens[max(place - 1, 0) : place + 2]]
    is_said = around == ["UNIQUE", "NULLS", "DISTINCT"]
    return [*tokens[:place], *tokens[place + 2 :]] if is_said else tokens


_CHANGES = (
    ("NULLS", _nulls),
    ("TRIM", _trim),
    ("SUBSTRING", _substring),
    ("ROWS", _rows),
    ("BIT", _bit),
)


def _end_of_call(tokens: Sequence[Token], place: int) -> int | None:
    """Where the brackets behind a name close; None where there are none, or nothing in them."""
    if place + 3 >= len(tokens) or tokens[place + 1].text != "(":
        return None
    found = _outer(tokens, place + 2, len(tokens), ")")
    return found if found is not None and found > place + 2 else None


def _outer(tokens: Sequence[Token], start: int, end: int, word: str) -> int | None:
    """Where a word stands next, and not within brackets."""
    depth = 0
    for place in range(start, end):
        token = tokens[place]
        text = token.text.upper() if token.token_type not in _TEXTS else ""
        if depth == 0 and text == word:
            return place
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth < 0:
            return None
    return None


def _parts(tokens: Sequence[Token], start: int, end: int) -> list[list[Token]]:
    """The tokens between commas that do not stand within brackets."""
    found: list[list[Token]] = []
    while start < end:
        comma = _outer(tokens, start, end, ",")
        stop = end if comma is None else comma
        found.append(list(tokens[start:stop]))
        start = stop + 1
    return found


def _like(at: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end)
