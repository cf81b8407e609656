"""UNDROP TABLE: the definition a table had when it was dropped enters the catalog again.

Its journal never went away, so all rows and their history are back with it.
"""

from __future__ import annotations

from dataclasses import replace

from journal.errors import Code, PalimpsestError
from journal.plan import Change, PutRelation, StatementPlan
from rewriter.context import RewriteContext
from rewriter.names import position_of
from rewriter.new_relations import check_journal_name, ddl_plan, exists_already, new_name
from rewriter.statement import Undrop


def rewrite_undrop(statement: Undrop, context: RewriteContext) -> StatementPlan:
    """The plan of an UNDROP TABLE."""
    node = statement.table
    name = new_name(node, context)
    if context.catalog.get(name) is not None:
        raise exists_already(name, node)
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
            f"the table that was {name} is there: it is {present.name} now",
            advice=f"ALTER TABLE {present.name} RENAME TO {name.name}",
            position=position_of(node),
        )
    table = replace(found, name=name)
    check_journal_name(table, node, context)
    return ddl_plan([Change(PutRelation(table))], "UNDROP TABLE")
