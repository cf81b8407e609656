"""Writing statements in parts: data-modifying CTEs, then the statement, or several inserts at once.

Every part sees the state before the statement, because all parts read before any part writes. Where
a dialect runs them in turn, a part sees what those before it have staged. Pure: AST in, plan out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Count, Query, Stage, StatementPlan, Step
from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.rules.delete import write_delete
from rewriter.rules.insert import write_insert
from rewriter.rules.merge import write_merge
from rewriter.rules.multi_insert import branches_of
from rewriter.rules.update import write_update
from rewriter.writing.changes import BEGINS
from rewriter.writing.parts_in_turn import row_change
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
        parts = _appended_parts(reads, parts)
        return plan_of(reads, parts, Query.of(holder.this), None, "SELECT")
    written = writer(ast, reads, number)
    parts = _appended_parts(reads, [*parts, written])
    return plan_of(reads, parts, written.result, parts[-1].count, written.tag)


def _appended_parts(reads: Reads, parts: list[StatementPart]) -> list[StatementPart]:
    """The parts as they are appended; what is checked further is what all of them leave."""
    parts = with_shared_tables(reads, parts)
    reads.changed.clear()
    return parts


def _modifying_parts(ast: exp.Expr, reads: Reads) -> list[StatementPart]:
    """The parts of the data-modifying CTEs; in the statement their results take their place."""
    with_ = ast.args.get("with_")
    parts: list[StatementPart] = []
    if with_ is None or not has_modifying_ctes(ast):
        return parts
    reads.several = True
    in_turn = semantics_of(reads.context.dialect).parts_in_turn
    last = max(i for i, c in enumerate(with_.expressions) if type(c.this) in WRITERS)
    before: list[exp.Expr] = []
    queried: list[Step] = []
    for place, cte in enumerate(with_.expressions):
        writer = WRITERS.get(type(cte.this))
        if writer is None:
            if in_turn and place < last and _runs_in_its_place(cte, ast):
                name = f"p_queried_{place}"
                queried.append(_stage_query(cte, before, reads, with_, name))
                cte = _staged_cte(cte, name)
            before.append(cte)
            continue
        part = PartNames(len(parts))
        inner = _with_ctes(cte.this.copy(), before, with_)
        written = writer(inner, reads, part)
        if in_turn and written.changes is not None:
            reads.changed.setdefault(written.table.id, []).append(row_change(written.changes))
        steps: list[Step] = [*queried, *written.steps]
        queried = []
        returned = written.result
        if returned is None and _is_read(cte, ast, with_.expressions[place + 1 :]):
            returned = _count_of(cte, written, in_turn)
        if returned is not None:
            name = part.relation_name("returned")
            steps.append(Stage(name, returned))
            before.append(_staged_cte(cte, name))
        changes = written.changes
        parts.append(
            StatementPart(written.table, written.tag, tuple(steps), written.append, changes=changes)
        )
    if before:
        ast.set("with_", exp.With(expressions=before, recursive=with_.recursive))
    else:
        ast.set("with_", None)
    return parts


def _is_read(cte: exp.CTE, ast: exp.Expr, behind: Sequence[exp.Expr]) -> bool:
    """True where the statement, or a CTE ``behind`` this one, reads from its name."""
    name = fold(cte.alias)
    others = [c for c in ast.args["with_"].expressions if not any(c is b for b in behind)]
    return any(
        fold(table.name) == name and not table.db and not _is_target(table)
        for table in ast.find_all(exp.Table)
        if not any(_hides(above, name, ast, others) for above in _above(table))
    )


def _is_target(table: exp.Table) -> bool:
    place = table.parent if isinstance(table.parent, exp.Schema) else table
    return type(place.parent) in WRITERS and place.arg_key == "this"


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    found = node.parent
    while found is not None:
        yield found
        found = found.parent


def _hides(above: exp.Expr, name: str, ast: exp.Expr, others: Sequence[exp.Expr]) -> bool:
    """True for a CTE that does not see the name, or a query with a CTE of that name of its own."""
    if any(above is other for other in others):
        return True
    own = above.args.get("with_")
    if above is ast or own is None:
        return False
    return any(fold(c.alias) == name for c in own.expressions)


def _count_of(cte: exp.CTE, written: StatementPart, counts: bool) -> Query:
    """What a part without RETURNING gives where its dialect says so: how many rows it changed."""
    if not counts or written.changes is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{cte.alias} has no rows to read, because it changes data without RETURNING",
            advice="add RETURNING to it, or do not name it",
            position=position_of(cte.args["alias"].this),
        )
    if written.count is not None:
        rows = written.count.query.ast.copy()
    else:
        rows = exp.select(exp.Count(this=exp.Star())).from_(staged_relation(written.changes.stage))
    assert isinstance(rows, exp.Select)
    return Query.of(exp.select(exp.alias_(exp.paren(exp.Subquery(this=rows)), "Count")))


def _with_ctes(query: exp.Expr, before: list[exp.Expr], with_: exp.With) -> exp.Expr:
    """A statement behind the CTEs before it."""
    own = query.args.get("with_")
    ctes = [*(c.copy() for c in before), *(own.expressions if own else ())]
    if ctes:
        recursive = with_.recursive or (own is not None and own.recursive)
        query.set("with_", exp.With(expressions=ctes, recursive=recursive))
    return query


def _staged_cte(cte: exp.CTE, stage: str) -> exp.CTE:
    """The CTE over the rows that it has given."""
    rows = exp.select("*").from_(staged_relation(stage))
    return exp.CTE(this=rows, alias=cte.args["alias"].copy())


def _runs_in_its_place(cte: exp.CTE, ast: exp.Expr) -> bool:
    """True for a query that runs before what stands behind it, not where its rows are asked for.

    DuckDB puts a query that is named once in the place of its name.
    """
    if cte.args.get("materialized") is not None:
        return bool(cte.args["materialized"])
    name = fold(cte.alias)
    inside = sum(fold(t.name) == name and not t.db for t in cte.this.find_all(exp.Table))
    everywhere = sum(fold(t.name) == name and not t.db for t in ast.find_all(exp.Table))
    return everywhere - inside > 1


def _stage_query(
    cte: exp.CTE, before: list[exp.Expr], reads: Reads, with_: exp.With, stage: str
) -> Stage:
    """The step that keeps the rows of a query, as they are before what stands behind it."""
    query = exp.select("*").from_(cte.args["alias"].this.copy())
    holder = exp.Subquery(this=_with_ctes(query, [*before, cte], with_))
    reads.rewrite(holder)
    return Stage(stage, Query.of(holder.this))


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
