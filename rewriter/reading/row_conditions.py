"""Conditions and masks over rows of one table that stand in no query: of policies, restores. Pure.

What a word means depends on the types of columns, so they are read as a part of a query.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.trees import copy_tree, with_changed_trees
from rewriter.statement import Explain, Restore, SqlStatement, Statement
from rewriter.statements.access import SetTablePolicy, SetTagPolicy
from rewriter.statements.own_statement import OwnStatement

Change = Callable[[exp.Expr], exp.Expr]
WITH_SQL = (SqlStatement, Explain, OwnStatement, Restore, SetTablePolicy, SetTagPolicy)
"""Statements with parts in the client's dialect."""


def with_changed_parts(statement: Statement, change: Change) -> Statement:
    """A statement whose trees are what ``change`` gives for them, those over rows in a query."""
    table = getattr(statement, "table", None)
    if isinstance(statement, SqlStatement | Explain) or not isinstance(table, exp.Table):
        return with_changed_trees(statement, change)
    return with_changed_trees(statement, lambda tree: changed_condition(tree, table, change))


def changed_condition(tree: exp.Expr, table: exp.Table, change: Change) -> exp.Expr:
    """What ``change`` gives for an expression over the rows of a table; the same for the same."""
    if not isinstance(tree, exp.Condition) or isinstance(tree, exp.Column | exp.Literal):
        return change(tree)
    query = exp.select(exp.Literal.number(1)).from_(copy_tree(table))
    # A number by itself would be taken for a condition.
    asked = exp.Is(this=exp.Paren(this=copy_tree(tree)), expression=exp.Null())
    query.set("where", exp.Where(this=asked))
    found = change(query)
    if found is query:
        return tree
    value = found.args["where"].this.this.this
    assert isinstance(value, exp.Expr)
    return value.pop()
