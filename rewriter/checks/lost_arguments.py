"""Refuses calls whose extra arguments sqlglot drops, such as ``mod(7, 4, 2)``.

Its builders of functions take what they know of, and pass over the rest, and so do its generators.
A call with more is refused, as a store refuses it, and so is ``@`` without a number. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from journal.sql import dialects
from rewriter.name_resolution import token_position

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_CLAUSES = frozenset(
    {TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.ALIAS, TokenType.USING}
    | {TokenType.ORDER_BY, TokenType.FOR, TokenType.DISTINCT}
)
"""What stands among arguments that are no plain list."""
_CLOCK = (exp.CurrentTimestamp, exp.CurrentTime, exp.Localtime, exp.Localtimestamp)
_WRITTEN_BY_RULES: dict[str, tuple[type[exp.Expr], ...]] = {"postgres": _CLOCK}
"""By dialect, what its rules write down with all arguments; generators leave the digits out."""
_COUNTED_MAX = 12
"""Arguments: a builder that keeps as many keeps any number."""
_LAST = ("a", "'day'", "7", "TRUE")
_KEPT_CALLS = 4_096


def check_arguments(tokens: Sequence[Token], ast: exp.Expr, dialect: str) -> None:
    """Raise UNKNOWN_FUNCTION for a call of which the tree of a statement lacks an argument.

    ``tokens`` are those that the tree was made of, in a dialect by sqlglot's name for it. Raises
    SYNTAX for ``@``, which is ``abs``, before nothing.
    """
    signs = [token for token in tokens if token.text == "@"]
    if signs and any(node.this is None for node in ast.find_all(exp.Abs)):
        raise PalimpsestError(
            Code.SYNTAX,
            "something is missing behind @",
            advice="give the number whose sign it takes away",
            position=Position(signs[-1].line, signs[-1].col),
        )
    found = [
        token
        for place, token in enumerate(tokens[:-1])
        if tokens[place + 1].token_type is TokenType.L_PAREN
        and token.text.isidentifier()
        and loses_arguments(token.text.lower(), _count(tokens, place + 2), dialect)
    ]
    if not found:
        return
    names = {name.meta.get("start") for name in ast.find_all(exp.Identifier)}
    for token in found:
        if token.start not in names:
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"there is no function {token.text.lower()} with so many arguments",
                advice="leave out the last ones",
                position=token_position(token),
            )


def _count(tokens: Sequence[Token], first: int) -> int:
    """How many arguments a list has that begins there, at most so many; 0 for another clause."""
    depth = commas = 0
    for place in range(first, len(tokens)):
        kind = tokens[place].token_type
        if depth == 0 and (kind in _CLAUSES or commas == _COUNTED_MAX):
            return 0 if kind in _CLAUSES else _COUNTED_MAX
        if depth == 0 and kind in _CLOSING:
            return 0 if place == first else commas + 1
        depth += (kind in _OPENING) - (kind in _CLOSING)
        commas += depth == 0 and kind is TokenType.COMMA
    return 0


@lru_cache(maxsize=_KEPT_CALLS)
def loses_arguments(name: str, count: int, dialect: str) -> bool:
    """True if a dialect's parser reads a call with so many arguments as one with the last left out.

    The last one may be a unit, a format or a flag, which only a constant says.
    """
    if not count:
        return False
    others = [f"a{place}" for place in range(count - 1)]
    without = _read(f"SELECT {name}({', '.join(others)})", dialect)
    if without is None:
        return False
    read = [_read(f"SELECT {name}({', '.join([*others, last])})", dialect) for last in _LAST]
    found = [ast for ast in read if ast is not None]
    return bool(found) and all(_says_the_same(ast, without, dialect) for ast in found)


def _says_the_same(ast: exp.Select, other: exp.Select, dialect: str) -> bool:
    """True if two trees are one, or are written as one: what is read is written down again."""
    if ast == other:
        return True
    if any(ast.find(kind) for kind in _WRITTEN_BY_RULES.get(dialect, ())):
        return False
    try:
        return dialects.text(ast, None, dialect) == dialects.text(other, None, dialect)
    except PalimpsestError:
        return False


def _read(text: str, dialect: str) -> exp.Select | None:
    try:
        (ast,) = dialects.parsed(dialects.tokens(text, dialect), text, dialect)
    except (ParseError, ValueError):
        return None
    return ast if isinstance(ast, exp.Select) else None
