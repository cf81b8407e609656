"""DELETE: each matching row ends, and a tombstone says that nothing followed. TRUNCATE is a DELETE of all rows."""

from __future__ import annotations

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.plan import Kind, Query, Stage, StatementPlan, Step
from rewriter.changes import ChangeSet, count_steps, fused, journal_steps
from rewriter.context import RewriteContext
from rewriter.key_lookup import keys_in
from rewriter.names import find_table, position_of
from rewriter.reads import Reads
from rewriter.target import Target, returning

STAGE = "changed"


def rewrite_delete(ast: exp.Delete, context: RewriteContext) -> StatementPlan:
    """The plan of a DELETE."""
    for clause in ("order", "limit", "tables"):
        if ast.args.get(clause):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"DELETE with {clause.upper()} is not supported",
                advice="choose the rows with WHERE key IN (SELECT ..)",
                position=position_of(ast),
            )
    reads = Reads(context)
    node = ast.this
    assert isinstance(node, exp.Table)
    table = find_table(node, context)
    target = Target.of(table, node)
    query = exp.select(*target.old_values())
    query = query.from_(exp.Subquery(this=exp.select("1")), copy=False)
    condition = _condition(ast, target)
    if condition is not None:
        query.set("where", exp.Where(this=condition))
    if ast.args.get("with_") is not None:
        query.set("with_", ast.args["with_"])
    keys = None
    if ast.args.get("where") is not None and not ast.args.get("using"):
        keys = keys_in(ast.args["where"].this, table, target.alias, alone=True)
    reads.rewrite_around(query, target.relation(reads, keys))
    wanted = ast.args.get("returning")
    return _plan(reads, query, target, wanted, "DELETE", bounded=keys is not None)


def rewrite_truncate(ast: exp.TruncateTable, context: RewriteContext) -> StatementPlan:
    """The plan of a TRUNCATE: all rows end, and can be read AS OF before."""
    if len(ast.expressions) != 1:
        raise PalimpsestError(
            Code.NOT_SUPPORTED, "TRUNCATE takes one table", advice="truncate one after another"
        )
    reads = Reads(context)
    node = ast.expressions[0]
    target = Target.of(find_table(node, context), node)
    query = exp.select(*target.old_values()).from_(target.relation(reads))
    return _plan(reads, query, target, None, "TRUNCATE")


def _condition(ast: exp.Delete, target: Target) -> exp.Expr | None:
    where = ast.args.get("where")
    using = ast.args.get("using")
    condition = where.this if where is not None else None
    if not using:
        return condition
    sources = list(using)
    matched = exp.select(exp.Literal.number(1)).from_(sources[0], copy=False)
    for source in sources[1:]:
        matched.append("joins", exp.Join(this=source, kind="CROSS"))
    if condition is not None:
        matched.set("where", exp.Where(this=condition))
    return exp.Exists(this=matched)


def _plan(
    reads: Reads,
    query: exp.Select,
    target: Target,
    wanted: exp.Returning | None,
    tag: str,
    *,
    bounded: bool = False,
) -> StatementPlan:
    changes = ChangeSet(target.table, STAGE, True, False, frozenset())
    if bounded and wanted is None:
        rows = fused(changes, query)
        return reads.plan(Kind.WRITE, [rows], target.table, tag, bounded=True)
    steps: list[Step] = [Stage(STAGE, Query.of(query)), *journal_steps(changes)]
    if wanted is not None:
        steps.append(returning(reads, changes, wanted, target.alias, old=True))
    steps += count_steps(changes)
    return reads.plan(Kind.WRITE, steps, target.table, tag, bounded=bounded)
