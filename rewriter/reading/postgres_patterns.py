"""SQL's patterns as PostgreSQL reads them. Pure.

s SIMILAR TO '(a|b)%'    becomes    regexp_full_match(s, '(?s)(?:(a|b).*)')
s LIKE '50\\%'            becomes    s LIKE '50\\%' ESCAPE '\\'
s LIKE ANY (ARRAY[p, q]) becomes    s LIKE p OR s LIKE q

DuckDB takes the pattern of SIMILAR TO for a regular expression, in which % and _ stand for
themselves. A backslash makes signs literal, and letters what they are in regular expressions, as in
PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import call, fill, variable
from rewriter.reading.postgres_quoting import not_here

_WILD = {"%": ".*", "_": "."}
_LITERAL = frozenset(".^$\\")
_ANY_OF = (
    "CASE WHEN list_contains(l, TRUE) THEN TRUE WHEN len(list_filter(l, LAMBDA m: m IS NOT NULL))"
    " = len(l) THEN FALSE END"
)
_ALL_OF = (
    "CASE WHEN list_contains(l, FALSE) THEN FALSE WHEN len(list_filter(l, LAMBDA m: m IS NOT NULL))"
    " = len(l) THEN TRUE END"
)


def concerns_patterns(node: exp.Expr) -> bool:
    """True for LIKE of several patterns, and of one in which a backslash may stand."""
    if isinstance(node.parent, exp.Escape) and node.arg_key == "this":
        return False
    pattern = node.expression
    return not pattern.is_string or "\\" in pattern.name


def spell_like(node: exp.Expr) -> exp.Expr:
    """The same with the sign that PostgreSQL escapes with, of each pattern."""
    several = quantified(node)
    if several is None:
        return _escaped(node)
    patterns, is_all = several
    if isinstance(patterns, exp.Array) and patterns.expressions:
        each = [_each(node, pattern) for pattern in patterns.expressions]
        return exp.Paren(this=(exp.and_ if is_all else exp.or_)(*each, copy=False))
    found = fill("list_transform(l, LAMBDA p: one)", l=patterns, one=_each(node, variable("p")))
    return fill(_ALL_OF if is_all else _ANY_OF, l=found)


def _each(like: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    """LIKE or NOT LIKE of one of several patterns."""
    made = _escaped(type(like)(this=like.this, expression=pattern))
    return exp.Not(this=made) if like.args.get("negate") else made


def quantified(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """The array behind ANY or ALL on the right of an operator, and whether it is ALL.

    None for anything else, and for a subquery.
    """
    right = node.args.get("expression")
    is_all = isinstance(right, exp.All)
    if isinstance(right, exp.Anonymous) and right.name.upper() == "ALL":
        given, is_all = right.expressions[0] if len(right.expressions) == 1 else None, True
    elif isinstance(right, exp.Any | exp.All):
        given = right.this
    else:
        return None
    array = given.unnest() if isinstance(given, exp.Paren) else given
    return None if array is None or isinstance(array, exp.Query) else (array, is_all)


def _escaped(like: exp.Expr) -> exp.Expr:
    pattern = like.expression
    if pattern.is_string and "\\" not in pattern.name:
        return like.copy()
    return exp.Escape(this=like.copy(), expression=exp.Literal.string("\\"))


def is_similar_with_escape(node: exp.Expr) -> bool:
    """True for ``s SIMILAR TO p ESCAPE '!'``."""
    return isinstance(node, exp.Escape) and isinstance(node.this, exp.SimilarTo)


def spell_similar_with_escape(node: exp.Expr) -> None:
    """Put a pattern that a backslash escapes in the place of one with another sign, or none.

    Raises NOT_SUPPORTED for a pattern or a sign that is computed.
    """
    pattern, sign = node.this.expression, node.expression
    if not (pattern.is_string and sign.is_string and len(sign.name) <= 1):
        raise not_here(node.this, "SIMILAR TO with this ESCAPE", "use constants, or a backslash")
    made, signs = "", iter(pattern.name)
    for one in signs:
        escaped = next(signs, one) if one == sign.name else None
        if escaped is not None:
            made += escaped if escaped.isalnum() else f"\\{escaped}"
        else:
            made += "\\\\" if one == "\\" else one
    pattern.replace(exp.Literal.string(made))
    node.replace(node.this)


def spell_similar(node: exp.Expr, _: Sequence[exp.Expr]) -> exp.Expr | None:
    """The same as a match of the whole text; raises NOT_SUPPORTED for a computed pattern."""
    pattern = node.expression
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
            if following == '"':
                # It parts the text for substring(), and says nothing here.
                continue
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
