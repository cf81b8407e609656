"""Writing statements in parts: data-modifying CTEs, then the statement, or several inserts at once.

Every part sees the state before the statement, because all parts read before any part writes.
Pure: AST in, plan out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from journal.model.plan import Count, Query, Stage, StatementPlan, Step
from rewriter.context import RewriteContext
from rewriter.reading.read_rewriter import Reads
from rewriter.rules.delete import write_delete
from rewriter.rules.insert import write_insert
from rewriter.rules.merge import write_merge
from rewriter.rules.multi_insert import branches_of
from rewriter.rules.update import write_update
from rewriter.writing.changes import BEGINS
from rewriter.writing.shared_tables import with_shared_tables
from rewriter.writing.statement_part import PartNames, StatementPart, plan_of, staged_relation

Writer = Callable[[Any, Reads, PartNames], StatementPart]

WRITERS: dict[type[exp.Expr], Writer] = {
    exp.Insert: write_insert,
    exp.Update: write_update,
    exp.Delete: write_delete,
    exp.Merge: write_merge,
}


def has_modifying_ctes(ast: exp.Expr) -> bool:
    """True when a CTE of the statement changes data."""
    with_ = ast.args.get("with_")
    return with_ is not None and any(type(c.this) in WRITERS for c in with_.expressions)


def rewrite_parts(ast: exp.Expr, context: RewriteContext) -> StatementPlan:
    """The plan of a writing statement, or of a query with data-modifying CTEs."""
    reads = Reads(context)
    parts = _modifying_parts(ast, reads)
    number = PartNames(len(parts))
    if isinstance(ast, exp.MultitableInserts):
        return _multi_insert_plan(ast, reads, parts)
    writer = WRITERS.get(type(ast))
    if writer is None:
        holder = exp.Subquery(this=ast)
        reads.rewrite(holder)
        return plan_of(
            reads, with_shared_tables(reads, parts), Query.of(holder.this), None, "SELECT"
        )
    written = writer(ast, reads, number)
    parts = with_shared_tables(reads, [*parts, written])
    return plan_of(reads, parts, written.result, written.count, written.tag)


def _modifying_parts(ast: exp.Expr, reads: Reads) -> list[StatementPart]:
    """The parts of the data-modifying CTEs; in the statement their results take their place."""
    with_ = ast.args.get("with_")
    parts: list[StatementPart] = []
    if with_ is None or not has_modifying_ctes(ast):
        return parts
    reads.several = True
    before: list[exp.Expr] = []
    for cte in with_.expressions:
        writer = WRITERS.get(type(cte.this))
        if writer is None:
            before.append(cte)
            continue
        part = PartNames(len(parts))
        inner = cte.this.copy()
        if before:
            ctes = [c.copy() for c in before]
            inner.set("with_", exp.With(expressions=ctes, recursive=with_.recursive))
        written = writer(inner, reads, part)
        steps: list[Step] = list(written.steps)
        if written.result is not None:
            name = part.relation_name("returned")
            steps.append(Stage(name, written.result))
            rows = exp.select("*").from_(staged_relation(name))
            before.append(exp.CTE(this=rows, alias=cte.args["alias"].copy()))
        changes = written.changes
        parts.append(
            StatementPart(written.table, written.tag, tuple(steps), written.append, changes=changes)
        )
    if before:
        ast.set("with_", exp.With(expressions=before, recursive=with_.recursive))
    else:
        ast.set("with_", None)
    return parts


def _multi_insert_plan(
    ast: exp.MultitableInserts, reads: Reads, parts: list[StatementPart]
) -> StatementPlan:
    reads.several = True
    shared, inserts = branches_of(ast, reads, PartNames(len(parts)))
    total: list[exp.Expr] = []
    for insert in inserts:
        part = PartNames(len(parts))
        written = write_insert(insert, reads, part)
        steps = (*shared, *written.steps)
        shared = []
        changes = written.changes
        parts.append(
            StatementPart(written.table, written.tag, steps, written.append, changes=changes)
        )
        rows = exp.select(exp.Count(this=exp.Star())).from_(part.relation_name("changed"))
        if insert.args.get("overwrite"):
            rows = rows.where(exp.column(BEGINS))
        total.append(exp.paren(rows.subquery()))
    parts = with_shared_tables(reads, parts)
    summed = total[0]
    for one in total[1:]:
        summed = exp.Add(this=summed, expression=one)
    return plan_of(reads, parts, None, Count(Query.of(exp.select(summed))), "INSERT")
