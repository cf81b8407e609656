"""Columns whose values are made, not given: generated ones and identities, as written. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Identity
from rewriter.definitions.constraint_options import check_identity_options


def generated_expression(node: exp.Expr) -> exp.Expr | None:
    """The expression of a generated column, which has two shapes; None for other constraints."""
    kind = node.args.get("kind")
    found = None
    if isinstance(kind, exp.ComputedColumnConstraint):
        found = kind.this
    elif isinstance(kind, exp.GeneratedAsIdentityColumnConstraint):
        found = kind.args.get("expression")
    return found if isinstance(found, exp.Expr) else None


def is_identity(node: exp.GeneratedAsIdentityColumnConstraint) -> bool:
    """True for generated numbers."""
    return node.this is not None and node.args.get("expression") is None


def identity_options(node: exp.GeneratedAsIdentityColumnConstraint) -> Identity:
    """How the numbers are generated; raises NOT_SUPPORTED for bounds, which are not kept."""
    check_identity_options(node)

    def number(name: str, default: int) -> int:
        value = node.args.get(name)
        return default if value is None else int(value.sql())

    return Identity(bool(node.this), number("start", 1), number("increment", 1))
