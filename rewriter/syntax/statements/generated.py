"""Generated columns in the one spelling that every dialect parses alike: GENERATED ALWAYS AS (..).

``b INTEGER AS (a + 1) NOT NULL`` is read by sqlglot as the question whether that is not null;
STORED and VIRTUAL, which say where a value is kept and change no answer, are not known everywhere.
Pure.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_KEPT = frozenset({"STORED", "VIRTUAL", "PERSISTED", "PERSISTENT"})


def spell_out_generated(tokens: list[Token]) -> list[Token]:
    """The tokens of a CREATE TABLE with the generated columns of its list spelled in one way."""
    if tokens[0].text.upper() != "CREATE" or not any(t.text.upper() == "AS" for t in tokens):
        return tokens
    tokens = _without_cache(tokens)
    found: list[Token] = []
    opened: list[bool] = []
    begun = 0
    ended = False
    for place, token in enumerate(tokens):
        word = token.text.upper() if token.token_type is not TokenType.IDENTIFIER else ""
        if word == "AS" and not opened:
            return [*found, *tokens[place:]]
        if ended and opened and word in _KEPT:
            ended = False
            continue
        ended = False
        if word == "(":
            opened.append(len(opened) == 1 and tokens[place - 1].text.upper() == "AS")
        elif word == ")" and opened:
            ended = opened.pop()
        if word in {"(", ","} and len(opened) == 1:
            begun = place
        if word == "AS" and len(opened) == 1 and _is_typed(tokens, begun, place):
            found += [_token_like(token, "GENERATED"), _token_like(token, "ALWAYS")]
        if word == "AS" and len(opened) == 1 and _is_untyped(tokens, begun, place):
            del found[-2:]
        found.append(token)
    return found


def _without_cache(tokens: list[Token]) -> list[Token]:
    """The tokens without ``CACHE n`` of identities: how many numbers a server has at hand."""
    found: list[Token] = []
    place, depth, inside = 0, 0, 0
    while place < len(tokens):
        token = tokens[place]
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "(" and place and tokens[place - 1].text.upper() == "IDENTITY":
            inside = depth
        inside = inside if depth >= inside else 0
        follows = tokens[place + 1].token_type if place + 1 < len(tokens) else None
        if inside and token.text.upper() == "CACHE" and follows is TokenType.NUMBER:
            place += 2
            if found[-1].text == "(" and tokens[place].text == ")":
                found.pop()
                place, depth, inside = place + 1, depth - 1, 0
            continue
        found.append(token)
        place += 1
    return found


def _is_typed(tokens: list[Token], begun: int, place: int) -> bool:
    """True for ``b INTEGER AS (``: not for ``b AS (``, whose type its expression tells."""
    follows = place + 1 < len(tokens) and tokens[place + 1].text == "("
    return follows and place - begun > 2 and tokens[place - 1].text.upper() != "ALWAYS"


def _is_untyped(tokens: list[Token], begun: int, place: int) -> bool:
    """True for ``b GENERATED ALWAYS AS (``, which is read as ``b AS (``."""
    words = [t.text.upper() for t in tokens[begun + 2 : place + 2]]
    return words == ["GENERATED", "ALWAYS", "AS", "("]


def _token_like(token: Token, text: str) -> Token:
    return Token(TokenType.VAR, text, token.line, token.col, token.start, token.end)
