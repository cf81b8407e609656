"""Keeps places in lists, ``l[i]``, counted from one when a tree changes around them. Pure.

sqlglot's parsers take one from a place that they know to be a number, and its generators add one to
a place that is known by then. A tree changes in between: a macro's parameter becomes a constant, a
call is spelled in other words. So what is no constant counts from one, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

COUNTING_FROM_ONE = frozenset({"duckdb", "postgres"})
"""The dialects whose lists begin at 1."""
_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()


def has_places(tokens: Iterable[Token]) -> bool:
    """True for a text that may take elements of lists."""
    return any(token.token_type is TokenType.L_BRACKET for token in tokens)


def count_from_one(ast: exp.Expr) -> None:
    """Have each place that is no constant count from 1, right after a tree was parsed.

    A constant counts from 1 where the parser has left it so: behind what it takes for no list.
    """
    for node in ast.find_all(exp.Bracket):
        if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
            continue
        places = _GENERATOR.bracket_offset_expressions(node)
        if not isinstance(node.expressions[0], exp.Literal) or places == node.expressions:
            node.set("expressions", places)
            node.set("offset", 1)
