"""CURRENT_USER and SESSION_USER: whom the gateway's client named, not the store's user. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.plan import P_USER
from journal.sql import cast, expression
from journal.trees import Nodes

USERS = (exp.CurrentUser, exp.SessionUser)


def name_users(nodes: Nodes) -> None:
    """Put the parameter with the user's name in the place of each call among a query's nodes."""
    for kind in USERS:
        for call in nodes.all(kind):
            call.replace(_name())


def stored_expression(text: str) -> exp.Expr:
    """A default or check from its text, for the user who runs the statement."""
    found = exp.Paren(this=expression(text))
    name_users(Nodes.of(found))
    named: exp.Expr = found.this
    return named


def _name() -> exp.Expr:
    return cast(exp.Placeholder(this=P_USER), "VARCHAR")
