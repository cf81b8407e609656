"""What PostgreSQL's dialect has and sqlglot does not parse, by the tokens. Pure.

EXISTS (SELECT FROM t)               becomes  EXISTS (SELECT 1 FROM t)
CREATE TABLE t (a text COMPRESSION pglz)      the same without, as it changes no answer
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_METHODS = frozenset({"PGLZ", "LZ4", "DEFAULT"})
_NO_TYPE = frozenset({"(", ",", ".", "SET", "COLUMN", "ADD", "BY", "SELECT"})
"""What stands before a column that is called compression, or before a clause of its own."""


def with_known_spellings(tokens: list[Token]) -> list[Token]:
    """The tokens in spellings that the parser knows."""
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in tokens]
    found: list[Token] = []
    is_definition = words[0] in {"CREATE", "ALTER"}
    index = 0
    while index < len(tokens):
        token, before = tokens[index], words[index - 1] if index else ""
        behind = words[index + 1] if index + 1 < len(words) else ""
        if is_definition and words[index] == "COMPRESSION" and behind in _METHODS:
            if before not in _NO_TYPE:
                index += 2
                continue
        found.append(token)
        lists_nothing = words[index] == "SELECT" and behind in {"FROM", "WHERE", ")"}
        if lists_nothing and words[max(index - 2, 0) : index] == ["EXISTS", "("]:
            place = (token.line, token.col, token.start, token.end)
            found.append(Token(TokenType.NUMBER, "1", *place))
        index += 1
    return found
