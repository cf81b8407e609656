"""What PostgreSQL's dialect has and sqlglot does not parse, by the tokens. Pure.

EXISTS (SELECT FROM t)               becomes  EXISTS (SELECT 1 FROM t)
CREATE TABLE t (a text COMPRESSION pglz)      the same without, as it changes no answer
WITH (security_barrier)              becomes  WITH (security_barrier = true)
JSON_OBJECT(a)                       becomes  JSON_OBJECT(a, NULL)
t JOIN u USING (a) AS j .. j.a       becomes  t JOIN u USING (a) .. a
ORDER BY a USING >                   becomes  ORDER BY a DESC
cidr '10/8'                          becomes  '10/8'::cidr
a <<= b                              becomes  a OPERATOR(<<=) b
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from rewriter.syntax.join_aliases import without_join_aliases
from rewriter.syntax.postgres_call_words import with_known_calls

_CONTAINING = frozenset({"<<=", ">>="})
"""Operators that the tokenizer takes for two."""
_FLAGS = frozenset({"SECURITY_BARRIER", "SECURITY_INVOKER"})
_METHODS = frozenset({"PGLZ", "LZ4", "DEFAULT"})
_ORDERS = {"<": (TokenType.ASC, "ASC"), ">": (TokenType.DESC, "DESC")}
_PAIRING = frozenset({",", ":", "VALUE", "KEY", "RETURNING", "ABSENT", "NULL"})
"""What stands in a call of JSON_OBJECT that names keys and values."""
_NO_TYPE = frozenset({"(", ",", ".", "SET", "COLUMN", "ADD", "BY", "SELECT"})
"""What stands before a column that is called compression, or before a clause of its own."""


def with_known_spellings(tokens: list[Token]) -> list[Token]:
    """The tokens in spellings that the parser knows."""
    tokens = with_known_calls(tokens)
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in tokens]
    tokens, words = without_join_aliases(tokens, words)
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
        if words[index] == "USING" and behind in _ORDERS:
            place = (token.line, token.col, token.start, tokens[index + 1].end)
            found.append(Token(*_ORDERS[behind], *place))
            index += 2
            continue
        if words[index] == "CIDR" and before not in _NO_TYPE - {"(", ",", "SELECT", "BY"}:
            text = tokens[index + 1 : index + 2]
            if text and text[0].token_type is TokenType.STRING:
                place = (token.line, token.col, token.start, token.end)
                found += [text[0], Token(TokenType.DCOLON, "::", *place), token]
                index += 2
                continue
        if words[index] + behind in _CONTAINING and tokens[index + 1].start == token.end + 1:
            place = (token.line, token.col, token.start, tokens[index + 1].end)
            found += [
                Token(TokenType.OPERATOR, "OPERATOR", *place),
                Token(TokenType.L_PAREN, "(", *place),
                *tokens[index : index + 2],
                Token(TokenType.R_PAREN, ")", *place),
            ]
            index += 2
            continue
        found.append(token)
        place = (token.line, token.col, token.start, token.end)
        if words[index] in _FLAGS and before in {"(", ","} and behind in {")", ","}:
            found += [Token(TokenType.EQ, "=", *place), Token(TokenType.VAR, "true", *place)]
        if words[index] == "JSON_OBJECT" and behind == "(":
            end = _end_of_one(words, index + 2)
            if end is not None:
                found += tokens[index + 1 : end]
                found += [
                    Token(TokenType.COMMA, ",", *place),
                    Token(TokenType.NULL, "NULL", *place),
                ]
                index = end
                continue
        lists_nothing = words[index] == "SELECT" and behind in {"FROM", "WHERE", ")"}
        if lists_nothing and words[max(index - 2, 0) : index] == ["EXISTS", "("]:
            found.append(Token(TokenType.NUMBER, "1", *place))
        index += 1
    return found


def _end_of_one(words: list[str], start: int) -> int | None:
    """Where the only argument of a call ends; None for none, several, or keys and values."""
    depth = 0
    for place in range(start, len(words)):
        word = words[place]
        if word in {"(", "["}:
            depth += 1
        elif word in {")", "]"}:
            if depth == 0:
                return place if place > start else None
            depth -= 1
        elif depth == 0 and word in _PAIRING:
            return None
    return None
