"""SQL's patterns with alternatives, as regular expressions. Pure.

s SIMILAR TO '(a|b)%'    becomes    regexp_full_match(s, '(?s)(?:(a|b).*)')

DuckDB takes the pattern of SIMILAR TO for a regular expression, in which % and _ stand for
themselves. A backslash makes signs literal, and letters what they are in regular expressions, as in
PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import call
from rewriter.reading.postgres_quoting import not_here

_WILD = {"%": ".*", "_": "."}
_LITERAL = frozenset(".^$\\")


def spell_similar(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """The same as a match of the whole text; raises NOT_SUPPORTED for a computed pattern."""
    pattern = node.expression
    if isinstance(node.parent, exp.Escape):
        raise not_here(node, "SIMILAR TO with ESCAPE", "escape with a backslash")
    if isinstance(pattern, exp.Null):
        return exp.cast(exp.null(), "BOOLEAN")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise not_here(
            node, "SIMILAR TO a pattern that is no constant", "use ~ with a regular expression"
        )
    return call("regexp_full_match", node.this, expression_of(pattern.name))


def expression_of(pattern: str) -> str:
    r"""The regular expression that matches the same texts.

    >>> expression_of("(a|b)%c.d\\%")
    '(?s)(?:(a|b).*c\\.d%)'
    """
    made, in_brackets, signs = "", False, iter(pattern)
    for sign in signs:
        if sign == "\\":
            following = next(signs, sign)
            made += following if following in " _%" else f"\\{following}"
        elif in_brackets:
            in_brackets = sign != "]"
            made += sign
        elif sign == "[":
            in_brackets = True
            made += sign
        else:
            made += _WILD.get(sign) or (f"\\{sign}" if sign in _LITERAL else sign)
    return f"(?s)(?:{made})"
