"""NEXT VALUE FOR s, the standard's spelling of ``nextval('s')``."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_NEXT_VALUE = ["NEXT", "VALUE", "FOR"]


def spell_next_value(tokens: list[Token]) -> list[Token]:
    """The tokens with ``nextval('s')`` where ``NEXT VALUE FOR s`` stands."""
    words = [token.text.upper() for token in tokens]
    place = next((i for i in range(len(words)) if words[i : i + 3] == _NEXT_VALUE), None)
    if place is None:
        return tokens
    end = place + 4
    while words[end : end + 1] == ["."]:
        end += 2
    parts = [t for t in tokens[place + 3 : end] if t.text != "."]
    quoted = (exp.to_identifier(t.text, quoted=t.token_type is TokenType.IDENTIFIER) for t in parts)
    name = ".".join(part.sql(dialect="duckdb") for part in quoted)
    kinds = [(TokenType.VAR, "nextval"), (TokenType.L_PAREN, "("), (TokenType.STRING, name)]
    at = tokens[place]
    made = [
        Token(kind, text, at.line, at.col, at.start, at.end)
        for kind, text in (*kinds, (TokenType.R_PAREN, ")"))
    ]
    return spell_next_value([*tokens[:place], *made, *tokens[end:]])
