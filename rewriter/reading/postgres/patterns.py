"""Patterns of LIKE as PostgreSQL reads them. Pure.

s LIKE '50\\%'            becomes    s LIKE '50\\%' ESCAPE '\\'
s LIKE ANY (ARRAY[p, q]) becomes    s LIKE p OR s LIKE q
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill, variable

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
