"""Spellings of CREATE INDEX and DROP INDEX that sqlglot does not parse.

NULLS DISTINCT, CONCURRENTLY and ONLY say what holds anyway. A list of names is parsed as one of
tables, and is one of indexes afterwards. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_DISTINCT = ["NULLS", "DISTINCT"]


def spell_out_index(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens that sqlglot can parse, and whether they drop indexes as if they were tables."""
    words = [token.text.upper() for token in tokens[:3]]
    if words[:2] == ["DROP", "INDEX"]:
        if words[2:] == ["CONCURRENTLY"]:
            tokens = [*tokens[:2], *tokens[3:]]
        named = tokens[1]
        table = Token(TokenType.TABLE, "TABLE", named.line, named.col, named.start, named.end)
        return [tokens[0], table, *tokens[2:]], True
    if words[:1] == ["CREATE"] and "INDEX" in words:
        tokens = _of_all(tokens)
        for place in range(len(tokens) - 1):
            if [token.text.upper() for token in tokens[place : place + 2]] == _DISTINCT:
                return [*tokens[:place], *tokens[place + 2 :]], False
    return tokens, False


def _of_all(tokens: list[Token]) -> list[Token]:
    """The tokens without the ONLY behind ON: no table here has children."""
    for place in range(len(tokens) - 2):
        said = [token.text.upper() for token in tokens[place : place + 2]] == ["ON", "ONLY"]
        named = tokens[place + 2].token_type not in {TokenType.L_PAREN, TokenType.USING}
        if said and named and tokens[place + 1].token_type is not TokenType.IDENTIFIER:
            return [*tokens[: place + 1], *tokens[place + 2 :]]
    return tokens


def set_index(ast: exp.Expr) -> exp.Expr:
    """Let a DROP that was parsed as one of tables be one of indexes."""
    if isinstance(ast, exp.Drop):
        ast.set("kind", "INDEX")
    return ast
