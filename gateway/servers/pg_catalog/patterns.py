"""LIKE as PostgreSQL has it, in words of the catalog's engine. Pure."""

from __future__ import annotations

from sqlglot import exp


def spell_quantified(tree: exp.Expr) -> None:
    """``a LIKE ANY (ARRAY['x', 'y'])`` as one comparison or the other, in place."""
    for node in list(tree.find_all(exp.Like, exp.ILike)):
        listed = node.expression.this.unnest() if isinstance(node.expression, exp.Any) else None
        if isinstance(listed, exp.Array):
            kind = type(node)
            parts = [kind(this=node.this.copy(), expression=part) for part in listed.expressions]
            node.replace(exp.paren(exp.or_(*parts, copy=False), copy=False))


def spell_escapes(tree: exp.Expr) -> None:
    """Give each pattern the sign of escape that the engine lacks by itself, in place."""
    for node in reversed(list(tree.find_all(exp.Like, exp.ILike))):
        if not isinstance(node.parent, exp.Escape):
            node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))
