"""DELETE and TRUNCATE: end each row, and append a tombstone for its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, Query, Stage, StatementKind, StatementPlan, Step
from journal.model.row_policy import RowUse
from journal.model.schema import Table, fold
from journal.model.sequence_changes import PutSequence
from rewriter.context import RewriteContext
from rewriter.definitions.identity_changes import restarted_identity
from rewriter.definitions.sequences import owned_by
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import find_table, position_of
from rewriter.reading.policies.security import check_no_raw, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.batch import write_batch
from rewriter.writing.changes import ChangeSet
from rewriter.writing.qualified import tell_apart, without_schema
from rewriter.writing.returned_stars import spell_out_stars
from rewriter.writing.returning import ReturningClause
from rewriter.writing.rows_named import spell_out_rows
from rewriter.writing.statement_part import (
    PartNames,
    StatementPart,
    finish_part,
    fuse_part,
    plan_of,
)
from rewriter.writing.target import AliasedTable
from rewriter.writing.target_rows import chosen_rows, source_joins, sources_of


def write_delete(ast: exp.Delete, reads: Reads, part: PartNames) -> StatementPart:
    """The part of a DELETE."""
    if isinstance(ast.this, exp.Table):
        tell_apart(ast, ast.this, reads.context)
    node, joins, behind_target = _target(ast)
    table = find_table(node, reads.context)
    without_schema(ast, node, reads.context)
    target = AliasedTable.of(table, node, reads.context, RowUse.DELETE)
    if target.masked:
        check_no_raw(ast, target.alias, table)
    spell_out_rows(ast, table, target.alias, reads.context)
    stage = part.relation_name("changed")
    spell_out_stars(ast, table, target.alias, reads.context)
    result = ReturningClause.of(ast, target, old=True)
    where = ast.args.get("where")
    if reads.context.batch:
        changes = ChangeSet(table, stage, True, False, frozenset())
        return write_batch(ast, reads, target, [], changes)
    keys = None
    if where is not None:
        keys = target.keys_in(where.this, reads.context.kinds, alone=not joins)
    relation = target.relation(reads, keys, ast)
    query = chosen_rows(
        reads, target, result.extras(), ast, joins, relation, behind_target=behind_target
    )
    changes = ChangeSet(table, stage, True, False, frozenset())
    if keys is not None and result.node is None:
        fused = fuse_part(reads, changes, [(stage, query)], "DELETE")
        if fused is not None:
            return fused
    steps = [Stage(stage, Query.of(query))]
    return finish_part(reads, changes, steps, "DELETE", result, bounded=keys is not None)


def rewrite_truncate(ast: exp.TruncateTable, context: RewriteContext) -> StatementPlan:
    """The plan of a TRUNCATE: all rows end, and can be read AS OF before."""
    option = str(ast.args.get("option") or "").upper()
    restarts = str(ast.args.get("identity") or "").upper() == "RESTART"
    reads = Reads(context)
    parts: list[StatementPart] = []
    tables = {table.id: table for table in (find_table(n, context) for n in ast.expressions)}
    if option == "CASCADE":
        _add_children(tables, context)
    elif semantics_of(context.dialect).keeps_referenced:
        _check_unreferenced(tables, ast, context)
    for table in tables.values():
        part = PartNames(len(parts))
        node = exp.table_(table.name.name, db=table.name.schema, quoted=True)
        target = AliasedTable.of(table, node, context, RowUse.DELETE)
        if target.hides_rows:
            advice = "DELETE the rows that the role sees, or ask the owner"
            raise refuse_restricted("truncate", table, advice)
        query = exp.select(*target.old_values()).from_(target.relation(reads))
        changes = ChangeSet(table, part.relation_name("changed"), True, False, frozenset())
        steps = [Stage(changes.stage, Query.of(query))]
        parts.append(
            finish_part(reads, changes, steps, "TRUNCATE", ReturningClause(None, target.alias))
        )
    plan = plan_of(reads, parts, None, None, "TRUNCATE")
    if not restarts:
        return plan
    # Never from the cache of plans, since each counter is new.
    begun = (*plan.steps, *_restarts(tables.values(), context))
    return replace(plan, kind=StatementKind.DDL, steps=begun)


def _restarts(tables: Iterable[Table], context: RewriteContext) -> Iterator[Step]:
    """Steps with which the numbers of these tables begin anew, if the transaction commits."""
    for table in tables:
        for sequence in owned_by(context, table.id):
            begun = replace(sequence, counter=context.new_table_id, begin=sequence.start)
            yield Change(PutSequence(begun, sequence.name))
        if any(c.identity is not None for c in table.columns):
            columns = (
                c if c.identity is None else restarted_identity(c, context.new_table_id)
                for c in table.columns
            )
            yield Change(PutRelation(replace(table, columns=tuple(columns)), table.name))


def _check_unreferenced(
    tables: dict[int, Table], ast: exp.TruncateTable, context: RewriteContext
) -> None:
    """Raise for a table that another one refers to which is not emptied with it."""
    for child in context.catalog.tables():
        for key in child.foreign_keys:
            if key.parent in tables and child.id not in tables:
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    f"{tables[key.parent].name} cannot be truncated: {child.name} refers to it",
                    advice=f"name {child.name} as well, or write CASCADE",
                    position=position_of(ast.expressions[0]),
                )


def _add_children(tables: dict[int, Table], context: RewriteContext) -> None:
    """Add the tables that refer to some, those that refer to these, and so on."""
    left = list(tables.values())
    while left:
        parent = left.pop()
        for child in context.catalog.tables():
            refers = any(key.parent == parent.id for key in child.foreign_keys)
            if refers and child.id not in tables:
                tables[child.id] = child
                left.append(child)


def _target(ast: exp.Delete) -> tuple[exp.Table, list[exp.Join], bool]:
    """The table that rows are deleted from, the relations it is joined with, and whether these see
    its columns.
    """
    node = ast.this
    named = ast.args.get("tables") or []
    using = ast.args.get("using") or []
    if len(named) > 1:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "DELETE from several tables at once is not supported",
            advice="delete from one table after another, in one transaction",
            position=position_of(named[1]),
        )
    if not isinstance(node, exp.Table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "DELETE takes rows from a table",
            advice="name the table",
            position=position_of(node if isinstance(node, exp.Expr) else None),
        )
    if named:
        return *_listed_target(named[0], [node]), True
    if using and any(_refers_to(s, node) for u in using for s in _relations(u)):
        return *_listed_target(node, using), True
    joins = sources_of(node, None)
    for source in using:
        joins += source_joins(source)
    return node, joins, bool(node.args.get("joins"))


def _listed_target(wanted: exp.Table, listed: list[exp.Table]) -> tuple[exp.Table, list[exp.Join]]:
    """The target that a multi-table DELETE names among its relations, and the other relations."""
    conditions: list[exp.Join] = []
    target: exp.Table | None = None
    for source in listed:
        for join in source_joins(source):
            relation = join.this
            if target is None and isinstance(relation, exp.Table) and _refers_to(relation, wanted):
                target = relation
                if join.args.get("on") is not None:
                    conditions.append(join)
            else:
                conditions.append(join)
    if target is None:
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"{wanted.name} is not among the tables of the DELETE",
            advice="name one of them, by its alias if it has one",
            position=position_of(wanted),
        )
    return target, _without_target(conditions, target)


def _without_target(joins: list[exp.Join], target: exp.Table) -> list[exp.Join]:
    """The joins with the target taken out; its own ON moves to the relation joined last."""
    kept: list[exp.Join] = []
    for join in joins:
        if join.this is not target:
            kept.append(join)
            continue
        if join.side or not kept:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "an outer join with the table that rows are deleted from is not supported here",
                advice="put that table first",
                position=position_of(target),
            )
        last = kept[-1]
        both = [j.args["on"] for j in (last, join) if j.args.get("on") is not None]
        last.set("on", exp.and_(*both))
        last.set("kind", None)
    return kept


def _relations(source: exp.Expr) -> list[exp.Expr]:
    return [source, *[j.this for j in source.args.get("joins") or []]]


def _refers_to(relation: exp.Expr, wanted: exp.Table) -> bool:
    if not isinstance(relation, exp.Table):
        return False
    if relation.alias:
        return fold(relation.alias) == fold(wanted.name) and not wanted.db
    return fold(relation.name) == fold(wanted.name) and fold(relation.db) == fold(wanted.db)
