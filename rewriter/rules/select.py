"""SELECT and everything that only reads: its tables become relations, the rest stays."""

from __future__ import annotations

from sqlglot import exp

from journal.plan import Fetch, Kind, Query, Stage, StatementPlan, Step
from rewriter.context import RewriteContext
from rewriter.reads import Reads

_UNPIVOTED = "unpivoted"


def rewrite_select(ast: exp.Expr, context: RewriteContext) -> StatementPlan:
    """The plan of a query."""
    reads = Reads(context)
    root = exp.Subquery(this=ast)
    reads.rewrite(root)
    return reads.plan(Kind.READ, [Fetch(Query.of(root.this))], None, "SELECT")


def rewrite_unpivot(ast: exp.Pivot, context: RewriteContext) -> StatementPlan:
    """The plan of the statement UNPIVOT; PIVOT is a query like others.

    Its source is staged, because the generator takes the qualifiers off every column inside it.
    """
    if not ast.args.get("unpivot"):
        return rewrite_select(ast, context)
    reads = Reads(context)
    source = ast.this
    query = exp.select("*").from_(source) if isinstance(source, exp.Table) else source
    root = exp.Subquery(this=query)
    reads.rewrite(root)
    ast.set("this", exp.to_table(_UNPIVOTED))
    steps: list[Step] = [Stage(_UNPIVOTED, Query.of(root.this)), Fetch(Query.of(ast))]
    return reads.plan(Kind.READ, steps, None, "SELECT")
