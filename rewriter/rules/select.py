"""SELECT and everything that only reads: its tables become relations, the rest stays."""

from __future__ import annotations

from sqlglot import exp

from journal.plan import Fetch, Kind, Query, StatementPlan
from rewriter.context import RewriteContext
from rewriter.reads import Reads


def rewrite_select(ast: exp.Expr, context: RewriteContext) -> StatementPlan:
    """The plan of a query."""
    reads = Reads(context)
    root = exp.Subquery(this=ast)
    reads.rewrite(root)
    return reads.plan(Kind.READ, [Fetch(Query.of(root.this))], None, "SELECT")
