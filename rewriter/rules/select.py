"""SELECT and other reads: replaces each table by a relation over its journal."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.plan import Fetch, Query, Stage, StatementKind, StatementPlan, Step
from rewriter.context import RewriteContext
from rewriter.reading.failing import gives_rows_early
from rewriter.reading.pivots import source_query
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.sources import check_pivot
from rewriter.writing.claimed_rows import rewrite_claims

_PIVOTED = "pivoted"


def rewrite_select(ast: exp.Expr, context: RewriteContext) -> StatementPlan:
    """The plan of a query."""
    if isinstance(ast, exp.Select) and ast.args.get("locks"):
        return rewrite_claims(ast, context)
    reads = Reads(context, counted=[])
    root = exp.Subquery(this=ast)
    early = gives_rows_early(ast)
    reads.rewrite(root)
    plan = reads.plan(StatementKind.READ, [Fetch(Query.of(root.this))], None, "SELECT")
    return replace(plan, fails_late=True) if early and reads.may_fail and plan.meets_ended else plan


def rewrite_pivot(ast: exp.Pivot, context: RewriteContext) -> StatementPlan:
    """The plan of PIVOT or UNPIVOT as a statement.

    Its source is staged: the columns of a PIVOT are found by looking at that first, which the store
    does in a statement of its own and so without parameters.
    """
    check_pivot(ast)
    reads = Reads(context)
    root = exp.Subquery(this=source_query(ast))
    reads.rewrite(root)
    ast.set("this", exp.to_table(_PIVOTED))
    steps: list[Step] = [Stage(_PIVOTED, Query.of(root.this)), Fetch(Query.of(ast))]
    return reads.plan(StatementKind.READ, steps, None, "SELECT")
