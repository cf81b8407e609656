"""INSERT: new rows become open rows, once no key is in the way; or what ON CONFLICT says instead.

INSERT OVERWRITE ends every present row in the same version, so the table can be read AS OF before.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, Stage, Step
from journal.model.schema import Table
from rewriter.name_resolution import find_table, position_of
from rewriter.reading.pivots import check_values_listed
from rewriter.reading.policies.security import check_no_raw, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet
from rewriter.writing.new_rows import NewRows
from rewriter.writing.qualified import without_schema
from rewriter.writing.replaced_rows import overwrite_part
from rewriter.writing.returning import ReturningClause
from rewriter.writing.rows_named import spell_out_rows
from rewriter.writing.statement_part import (
    PartNames,
    StatementPart,
    finish_part,
    fuse_part,
)
from rewriter.writing.target import AliasedTable, distinct_columns
from rewriter.writing.upsert import share_ctes, wanted_upsert
from rewriter.writing.upserting import upsert_part

_BOUNDED_ROWS = 100


def write_insert(ast: exp.Insert, reads: Reads, part: PartNames) -> StatementPart:
    """The part of an INSERT."""
    node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    if not isinstance(node, exp.Table):
        raise _refusal("INSERT writes to a table", ast)
    check_values_listed(ast)
    share_ctes(ast)
    table = find_table(node, reads.context)
    named = ast.this.expressions if isinstance(ast.this, exp.Schema) else []
    columns = distinct_columns(table, named) if named else None
    without_schema(ast, node, reads.context)
    target = AliasedTable.of(table, node, reads.context)
    alias = ast.args.get("alias")
    if alias is not None:
        target = replace(target, alias=alias.name)
    result = ReturningClause.of(ast, target)
    if target.masked and ast.args.get("conflict") is not None:
        check_no_raw(ast.args["conflict"], target.alias, table)
    spell_out_rows(ast, table, target.alias, reads.context)
    upsert = wanted_upsert(ast, table, reads.context.dialect)
    rows = NewRows(reads, table, part, ast, columns)
    if ast.args.get("overwrite"):
        if target.hides_rows:
            raise refuse_restricted("overwrite", table, "DELETE and INSERT what the role sees")
        return overwrite_part(reads, part, rows, target, result)
    if upsert is not None:
        return upsert_part(reads, part, rows, target, upsert, result)
    return _insert_part(reads, part, rows, table, result)


def _insert_part(
    reads: Reads, part: PartNames, rows: NewRows, table: Table, result: ReturningClause
) -> StatementPart:
    stage = part.relation_name("changed")
    query = rows.query()
    changes = ChangeSet(table, stage, False, True, _all_columns(table), constants=rows.constants)
    if rows.row_count == 1 and not rows.explicit and result.node is None:
        taken, checked = rows.taken_key_check()
        written = fuse_part(
            reads,
            changes,
            [(stage, query)],
            "INSERT",
            numbers=rows.steps,
            taken=taken,
            checked=checked,
        )
        if written is not None:
            return written
    many = table if rows.row_count is None else None
    staging = Stage(stage, Query.of(query), rows_of=many)
    steps: list[Step] = [*rows.steps, staging, *rows.identity_steps(stage)]
    bounded = rows.row_count is not None and rows.row_count <= _BOUNDED_ROWS
    return finish_part(reads, changes, steps, "INSERT", result, bounded=bounded)


def _all_columns(table: Table) -> frozenset[str]:
    return frozenset(c.physical for c in table.stored)


def _refusal(message: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        message,
        advice="see docs/sql.md for the forms of INSERT",
        position=position_of(node),
    )
