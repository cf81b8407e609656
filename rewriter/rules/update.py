"""UPDATE: each matching row ends and begins again with the assigned values."""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import Kind, Query, Stage, StatementPlan, Step
from rewriter.assignments import assignments
from rewriter.changes import (
    ChangeSet,
    count_steps,
    fused,
    is_guarded,
    journal_steps,
    unique_guards,
)
from rewriter.context import RewriteContext
from rewriter.key_lookup import keys_in
from rewriter.names import find_table, position_of
from rewriter.reads import Reads
from rewriter.target import Target, new_values, physical_rows, returning

STAGE = "changed"


def rewrite_update(ast: exp.Update, context: RewriteContext) -> StatementPlan:
    """The plan of an UPDATE."""
    for clause in ("order", "limit"):
        if ast.args.get(clause) is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"UPDATE with {clause.upper()} is not supported",
                advice="choose the rows with WHERE key IN (SELECT ..)",
                position=position_of(ast),
            )
    reads = Reads(context)
    node = ast.this
    assert isinstance(node, exp.Table)
    table = find_table(node, context)
    target = Target.of(table, node)
    assigned = assignments(table, ast.expressions).values
    query = exp.select(*target.old_values(), *new_values(assigned, target.places()))
    query = query.from_(exp.Subquery(this=exp.select("1")), copy=False)
    joins = list(node.args.get("joins") or [])
    from_ = ast.args.get("from_")
    if from_ is not None:
        joins.append(exp.Join(this=from_.this, kind="CROSS"))
        joins += from_.this.args.pop("joins", None) or []
    for join in joins:
        query.append("joins", join)
    if ast.args.get("where") is not None:
        query.set("where", ast.args["where"])
    if ast.args.get("with_") is not None:
        query.set("with_", ast.args["with_"])
    if joins:
        query.set("qualify", _one_each(target))
    keys = None
    if ast.args.get("where") is not None:
        keys = keys_in(ast.args["where"].this, table, target.alias, alone=not joins)
    reads.rewrite_around(query, target.relation(reads, keys))
    changes = ChangeSet(table, STAGE, True, True, frozenset(assigned))
    wanted = ast.args.get("returning")
    if keys is not None and wanted is None and not is_guarded(changes):
        return reads.plan(Kind.WRITE, [fused(changes, query)], table, "UPDATE", bounded=True)
    steps: list[Step] = [Stage(STAGE, Query.of(query))]
    if unique_guards(changes, None):
        steps += unique_guards(changes, physical_rows(reads, table))
    steps += journal_steps(changes)
    if wanted is not None:
        steps.append(returning(reads, changes, wanted, target.alias))
    steps += count_steps(changes)
    return reads.plan(Kind.WRITE, steps, table, "UPDATE", bounded=keys is not None)


def _one_each(target: Target) -> exp.Qualify:
    """Each row changes once, whichever of several matches is taken."""
    keys = [exp.column(k.this, table=target.alias) for k in _key_columns(target)]
    number = exp.Window(this=exp.RowNumber(), partition_by=keys)
    return exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1)))


def _key_columns(target: Target) -> list[exp.Column]:
    return [
        exp.column(exp.to_identifier(c.name, quoted=True))
        for c in target.table.stored
        if c.physical in target.table.key
    ]
