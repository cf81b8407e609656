"""CURRENT_USER, SESSION_USER and CURRENT_SCHEMA: the client's own, not those of the store. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import P_USER
from journal.model.schema import fold
from journal.model.trees import Nodes
from journal.sql.sql import cast, expression
from rewriter.context import RewriteContext
from rewriter.name_resolution import OWN_SCHEMAS, SYSTEM_SCHEMAS

USERS = (exp.CurrentUser, exp.SessionUser)
OF_SESSION = (*USERS, exp.CurrentSchema)
"""Calls that the gateway answers itself."""


def name_users(nodes: Nodes) -> None:
    """Put the parameter with the user's name in the place of each call among a query's nodes."""
    for kind in USERS:
        for call in nodes.all(kind):
            call.replace(_name())


def name_schema(nodes: Nodes, context: RewriteContext) -> None:
    """Put the schema of names without one in the place of each call among a query's nodes.

    It is NULL where there is no schema of the name that was set.
    """
    for call in nodes.all(exp.CurrentSchema):
        name = context.session_schema or context.default_schema
        is_there = fold(name) in {*context.catalog.schemas, *SYSTEM_SCHEMAS, *OWN_SCHEMAS}
        call.replace(exp.Literal.string(name) if is_there else cast(exp.Null(), "VARCHAR"))


def stored_expression(text: str) -> exp.Expr:
    """A default or check from its text, for the user who runs the statement."""
    found = exp.Paren(this=expression(text))
    name_users(Nodes.of(found))
    named: exp.Expr = found.this
    return named


def _name() -> exp.Expr:
    return cast(exp.Placeholder(this=P_USER), "VARCHAR")
