"""UPDATE: ends each matching row, and begins it again with the assigned values."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, Stage
from journal.model.row_policy import RowUse
from rewriter.checks.allowed import check_some
from rewriter.name_resolution import find_table, position_of
from rewriter.reading.key_lookup import is_constant
from rewriter.reading.policies.security import check_no_raw
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.assignments import assignments
from rewriter.writing.batch import write_batch
from rewriter.writing.changes import ChangeSet
from rewriter.writing.qualified import without_schema
from rewriter.writing.returned_stars import spell_out_stars
from rewriter.writing.returning import ReturningClause
from rewriter.writing.rows_named import spell_out_rows
from rewriter.writing.statement_part import PartNames, StatementPart, finish_part, fuse_part
from rewriter.writing.target import AliasedTable, new_values
from rewriter.writing.target_rows import chosen_rows, sources_of


def write_update(ast: exp.Update, reads: Reads, part: PartNames) -> StatementPart:
    """The part of an UPDATE."""
    node = ast.this
    if not isinstance(node, exp.Table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "UPDATE changes a table",
            advice="name the table",
            position=position_of(node),
        )
    check_some(ast.expressions, node)
    table = find_table(node, reads.context)
    without_schema(ast, node, reads.context)
    target = AliasedTable.of(table, node, reads.context, RowUse.UPDATE)
    if target.masked:
        check_no_raw(ast, target.alias, table)
    spell_out_rows(ast, table, target.alias, reads.context)
    stage = part.relation_name("changed")
    assigned = assignments(table, ast.expressions, target.alias).values
    spell_out_stars(ast, table, target.alias, reads.context)
    result = ReturningClause.of(ast, target)
    joins = sources_of(node, ast.args.get("from_"))
    where = ast.args.get("where")
    if reads.context.batch:
        changes = ChangeSet(table, stage, True, True, frozenset(assigned))
        return write_batch(ast, reads, target, new_values(assigned, target.places()), changes)
    keys = None
    if where is not None:
        keys = target.keys_in(where.this, reads.context.kinds, alone=not joins)
    query = chosen_rows(
        reads,
        target,
        [*new_values(assigned, target.places()), *result.extras()],
        ast,
        joins,
        target.relation(reads, keys, ast),
        behind_target=bool(node.args.get("joins")),
    )
    constants = {name: value for name, value in assigned.items() if is_constant(value)}
    changes = ChangeSet(table, stage, True, True, frozenset(assigned), constants=constants)
    if keys is not None and result.node is None:
        fused = fuse_part(reads, changes, [(stage, query)], "UPDATE")
        if fused is not None:
            return fused
    steps = [Stage(stage, Query.of(query))]
    return finish_part(reads, changes, steps, "UPDATE", result, bounded=keys is not None)
