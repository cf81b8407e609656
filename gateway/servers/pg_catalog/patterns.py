"""LIKE and regular expressions as PostgreSQL has them, for the catalog's engine. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

_GROUP = re.compile(r"(?<!\\)\((?!\?)")
"""What opens a group of a regular expression that is given back."""


def spell_patterns(tree: exp.Expr) -> None:
    """``a LIKE ANY (ARRAY['x', 'y'])``, and parts of texts by a regular expression, in place."""
    for part in list(tree.find_all(exp.Substring)):
        spelled = _spelled_substring(part)
        if spelled is not None:
            part.replace(spelled)
    for node in list(tree.find_all(exp.Like, exp.ILike)):
        listed = node.expression.this.unnest() if isinstance(node.expression, exp.Any) else None
        # NOT LIKE ANY asks whether one of them does not match.
        if isinstance(listed, exp.Array) and not isinstance(node.parent, exp.Not):
            kind = type(node)
            each = [kind(this=node.this.copy(), expression=value) for value in listed.expressions]
            node.replace(exp.paren(exp.or_(*each, copy=False), copy=False))


def spell_escapes(tree: exp.Expr) -> None:
    """Give each pattern the sign of escape that the engine lacks by itself, in place."""
    for node in reversed(list(tree.find_all(exp.Like, exp.ILike))):
        if not isinstance(node.parent, exp.Escape):
            node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))


def _spelled_substring(node: exp.Substring) -> exp.Expr | None:
    """``substring(a FROM 'x=(.*)')``: what the first group matches, or all of it, or NULL."""
    pattern = node.args.get("start")
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or node.args.get("length"):
        return None
    group = exp.Literal.number(1 if _GROUP.search(pattern.name) else 0)
    is_found = exp.Anonymous(this="regexp_matches", expressions=[node.this.copy(), pattern.copy()])
    found = exp.Anonymous(this="regexp_extract", expressions=[node.this, pattern, group])
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=is_found, true=found)]))
