"""``t JOIN u USING (a) AS j``, whose alias names the columns that both have, by the tokens. Pure.

``j.a`` is the one column that the join makes of both, which ``a`` alone names as well.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position


def without_join_aliases(tokens: list[Token], words: list[str]) -> tuple[list[Token], list[str]]:
    """The tokens, and their words in capitals, without such aliases.

    Raises UNKNOWN_COLUMN for another column of one, NOT_SUPPORTED for an alias that has another
    meaning as well.
    """
    if "USING" not in words or "JOIN" not in words:
        return tokens, words
    found: dict[str, list[Token]] = {}
    kept = list(range(len(tokens)))
    for place, word in enumerate(words):
        end = _end_of_names(tokens, words, place) if word == "USING" else None
        if end is None or words[end + 1 : end + 2] != ["AS"] or end + 2 >= len(tokens):
            continue
        alias = tokens[end + 2]
        columns = [t for t in tokens[place + 2 : end] if t.token_type is not TokenType.COMMA]
        if _key(alias) in found:
            raise _twice(alias)
        found[_key(alias)] = columns
        kept = [index for index in kept if index not in {end + 1, end + 2}]
    if not found:
        return tokens, words
    tokens_left = _tokens_without([tokens[index] for index in kept], found)
    return tokens_left, [_word(token) for token in tokens_left]


def _tokens_without(tokens: list[Token], aliases: dict[str, list[Token]]) -> list[Token]:
    made: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        columns = aliases.get(_key(token)) if _is_name(token) else None
        is_field = index > 0 and tokens[index - 1].token_type is TokenType.DOT
        if columns is None or is_field:
            made.append(token)
            index += 1
            continue
        if index + 2 >= len(tokens) or tokens[index + 1].token_type is not TokenType.DOT:
            raise _twice(token)
        named = tokens[index + 2]
        if named.token_type is TokenType.STAR:
            for place, one in enumerate(columns):
                made += [_comma(token), one] if place else [one]
        elif _key(named) in map(_key, columns):
            made.append(named)
        else:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f"column {token.text}.{named.text} does not exist",
                advice="the alias of a join names the columns in USING alone",
                position=token_position(token),
            )
        index += 3
    return made


def _end_of_names(tokens: list[Token], words: list[str], using: int) -> int | None:
    """Where a list of bare names behind USING ends; None where something else stands there."""
    if words[using + 1 : using + 2] != ["("] or "JOIN" not in words[:using]:
        return None
    place = using + 2
    while place < len(tokens) and _is_name(tokens[place]):
        place += 1
        if place < len(tokens) and tokens[place].token_type is TokenType.COMMA:
            place += 1
            continue
        break
    is_end = place < len(tokens) and tokens[place].token_type is TokenType.R_PAREN
    return place if is_end and place > using + 2 else None


def _is_name(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()


def _key(token: Token) -> str:
    return token.text if token.token_type is TokenType.IDENTIFIER else token.text.lower()


def _word(token: Token) -> str:
    return "" if token.token_type is TokenType.IDENTIFIER else token.text.upper()


def _comma(token: Token) -> Token:
    return Token(TokenType.COMMA, ",", token.line, token.col, token.start, token.end)


def _twice(alias: Token) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{alias.text} is the alias of a join, and stands for something else as well",
        advice="give the join another alias, and name single columns of it",
        position=token_position(alias),
    )
