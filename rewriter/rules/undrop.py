"""UNDROP TABLE: the definition a table had when it was dropped enters the catalog again.

Its journal never went away, so all rows and their history are back with it. So are its foreign
keys, which its rows must still keep.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.plan import Change, Guard, PutRelation, StatementKind, StatementPlan, Step
from journal.model.schema import Reference, Table
from journal.model.segment import Tier
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.definitions.index_names import check_moved_indexes
from rewriter.definitions.new_relations import already_exists, check_journal_name, new_name
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.statement import Undrop
from rewriter.writing.references import dangling_guard


def rewrite_undrop(statement: Undrop, context: RewriteContext) -> StatementPlan:
    """The plan of an UNDROP TABLE."""
    node = statement.table
    name = new_name(node, context)
    if context.catalog.get(name) is not None:
        raise already_exists(name, node)
    found = context.dropped(name)
    if found is None:
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"no table {name} was dropped",
            advice="check the spelling; a renamed table is found under its last name",
            position=position_of(node),
        )
    present = context.catalog.by_id(found.id)
    if present is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"the table that was named {name} still exists: it is {present.name} now",
            advice=f"ALTER TABLE {present.name} RENAME TO {name.name}",
            position=position_of(node),
        )
    table = replace(found, name=name)
    if table.materialized is not None:
        # An erasure meanwhile has taken its rows, or will.
        table = replace(table, materialized=replace(table.materialized, refreshed=None))
    check_journal_name(table, node, context)
    check_moved_indexes(table, node, context)
    reads = Reads(context)
    steps: list[Step] = [_parent_guard(reads, table, key, node) for key in table.foreign_keys]
    steps.append(Change(PutRelation(table)))
    return reads.plan(
        StatementKind.DDL, steps, table if table.foreign_keys else None, "UNDROP TABLE"
    )


def _parent_guard(reads: Reads, table: Table, key: ForeignKey, node: exp.Expr) -> Guard:
    """That the rows which come back still have their parents."""
    parent = table if key.parent == table.id else reads.context.catalog.by_id(key.parent)
    where = position_of(node)
    if parent is None or not parent.has_unique(key.parent_columns):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'foreign key "{key.name}" of {table.name} has lost the table or the constraint that it'
            " refers to",
            advice="bring that back first; or copy the rows by CREATE TABLE .. AS SELECT .. AS OF",
            position=where,
        )
    if Tier.BUFFER in reads.context.scan_info(table.id).tiers:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} was written to in the transaction that dropped it",
            advice="ROLLBACK brings it back, or COMMIT before UNDROP",
            position=where,
        )
    rows = reads.relation(table, [(column(c), c) for c in key.columns])
    present = reads.relation(parent, [(column(c), c) for c in key.parent_columns])
    return dangling_guard(Reference(table, key, parent), rows, present)
