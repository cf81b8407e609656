"""``pg_catalog`` before functions, types and operators, which are the same without it. Pure.

pg_catalog.lower(b)          becomes  lower(b)
b::pg_catalog.text           becomes  b::text
a OPERATOR(pg_catalog.~) b   becomes  a ~ b

and in the duckdb dialect before functions that the gateway answers itself:

main.current_schema()        becomes  current_schema()
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.sql import dialects

_SCHEMA = "pg_catalog"
_BEFORE_NAMES = frozenset(
    {"TABLE", "INTO", "EXISTS", "REFERENCES", "VIEW", "FUNCTION", "MACRO", "COPY", "ANALYZE"}
)
"""Words before the name of something that columns in brackets may follow."""
_BINDING = frozenset("+ - * / % ^ < > = <= >= <> !=".split())
"""Operators that would bind otherwise than OPERATOR() does."""

_OF_THE_ENGINE = frozenset({"main", "pg_catalog", "system.main", "system.pg_catalog"})
_ANSWERED = frozenset(
    "current_schema current_schemas current_user session_user user current_role current_setting"
    " getvariable now transaction_timestamp get_current_timestamp current_localtime"
    " current_localtimestamp today get_current_time".split()
)
"""Functions of the session and its clock, which the store knows of another session."""


def without_engine_schema(ast: exp.Expr) -> exp.Expr:
    """The tree with such a function without its schema, in place; an output keeps its name."""
    for dot in list(ast.find_all(exp.Dot)):
        called = dot.expression
        is_answered = isinstance(called, exp.Anonymous) and called.name.lower() in _ANSWERED
        if not is_answered or dot.this.sql("duckdb").lower() not in _OF_THE_ENGINE:
            continue
        text = called.sql("duckdb", normalize_functions="lower")
        made = dialects.read_back(f"SELECT {text}", "duckdb").expressions[0]
        if isinstance(dot.parent, exp.Select) and dot.arg_key == "expressions":
            name = exp.to_identifier(f"{dot.this.sql('duckdb')}.{text}", quoted=True)
            made = exp.alias_(made, name)
        dot.replace(made)
    return ast


def without_catalog_schema(tokens: list[Token]) -> list[Token]:
    """The tokens without the schema where it names a function, a type of a cast or an operator."""
    if all(token.text.lower() != _SCHEMA for token in tokens):
        return tokens
    is_index = any(token.text.upper() == "INDEX" for token in tokens[:3])
    found: list[Token] = []
    index = 0
    while index < len(tokens):
        length = _operator_length(tokens, index)
        if length:
            found += tokens[index + 4 : index + length - 1]
            index += length
        elif _is_schema(tokens, index) and _goes(found, tokens[index + 3 :], is_index):
            index += 2
        else:
            found.append(tokens[index])
            index += 1
    return found


def _is_schema(tokens: list[Token], index: int) -> bool:
    if tokens[index].text.lower() != _SCHEMA or index + 2 >= len(tokens):
        return False
    is_string = tokens[index].token_type is TokenType.STRING
    return not is_string and tokens[index + 1].token_type is TokenType.DOT


def _goes(before: list[Token], after: list[Token], is_index: bool) -> bool:
    """True for the schema of a call, or of the type of a cast."""
    last = before[-1] if before else None
    if last is None or last.token_type is TokenType.DOT:
        return False
    word = last.text.upper()
    if last.token_type is TokenType.DCOLON or (word == "AS" and _is_cast(before)):
        return True
    is_call = bool(after) and after[0].token_type is TokenType.L_PAREN
    return is_call and word not in _BEFORE_NAMES and not (word == "ON" and is_index)


def _is_cast(before: list[Token]) -> bool:
    """True for the AS of ``CAST(x AS``: within a bracket that CAST opens."""
    depth = 0
    for place in range(len(before) - 1, 0, -1):
        kind = before[place].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0:
            return before[place - 1].text.upper() == "CAST"
    return False


def _operator_length(tokens: list[Token], index: int) -> int:
    """How many tokens ``OPERATOR(pg_catalog.~)`` has that stands here; 0 for something else."""
    words = [token.text.lower() for token in tokens[index : index + 7]]
    if words[:4] != ["operator", "(", _SCHEMA, "."] or ")" not in words:
        return 0
    end = words.index(")")
    return 0 if end < 5 or "".join(words[4:end]) in _BINDING else end + 1
