"""Options of GENERATED .. AS IDENTITY in the order that every dialect parses. Pure.

SQLAlchemy writes INCREMENT BY before START WITH. NO MINVALUE, NO MAXVALUE and NO CYCLE say what is
so anyway; table and column settle the name of the sequence, which SEQUENCE NAME gives.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_FIRST = {"START": "WITH", "INCREMENT": "BY"}
"""The words that the others follow, and what may be left out behind them."""
_BEGINS = frozenset(
    {*_FIRST, "MINVALUE", "MAXVALUE", "NO", "CYCLE", "CACHE", "RESTART", "OWNED", "SEQUENCE"}
)


def with_ordered_identities(tokens: list[Token]) -> list[Token]:
    """The tokens of a CREATE or ALTER with options in order, and without those of no effect."""
    if tokens[0].text.upper() not in {"CREATE", "ALTER"}:
        return tokens
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        found.append(tokens[place])
        place += 1
        is_open = place < len(tokens) and tokens[place].text == "("
        if found[-1].text.upper() != "IDENTITY" or not is_open:
            continue
        end = next((i for i in range(place, len(tokens)) if tokens[i].text == ")"), None)
        if end is None:
            continue
        options = _ordered(tokens[place + 1 : end])
        if options or end == place + 1:
            found += [tokens[place], *options, tokens[end]]
        place = end + 1
    return found


def _ordered(tokens: list[Token]) -> list[Token]:
    options: list[list[Token]] = []
    for token in tokens:
        is_negated = bool(options) and [t.text.upper() for t in options[-1]] == ["NO"]
        if not options or (token.text.upper() in _BEGINS and not is_negated):
            options.append([])
        options[-1].append(token)
    kept = [option for option in options if option[0].text.upper() not in {"NO", "SEQUENCE"}]
    kept.sort(key=lambda option: _place(option[0].text.upper()))
    return [token for option in kept for token in _spelled_out(option)]


def _place(word: str) -> int:
    """Where an option stands among the others, by its first word."""
    return (*_FIRST, word).index(word)


def _spelled_out(option: list[Token]) -> list[Token]:
    filler = _FIRST.get(option[0].text.upper())
    if filler is None or (option[1:2] and option[1].text.upper() == filler):
        return option
    like = option[0]
    return [like, Token(TokenType.VAR, filler, like.line, like.col), *option[1:]]
