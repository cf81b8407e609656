"""CHECKPOINT, ANALYZE, CLUSTER and the like, which tools send to look after a store.

The gateway seals, merges and measures journals itself, so these change nothing. What they name must
be there. Pure.
"""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import StatementKind, StatementPlan
from journal.model.schema import TableName
from rewriter.context import RewriteContext
from rewriter.definitions.index_names import find_index, find_key, unknown_index
from rewriter.definitions.new_relations import resolve_schema
from rewriter.name_resolution import find_table, is_database
from rewriter.statement import StoreUpkeep


def rewrite_store_upkeep(statement: StoreUpkeep, context: RewriteContext) -> StatementPlan:
    """A plan of no steps; raises UNKNOWN_TABLE for a table or database that is not there."""
    if statement.table is not None:
        find_table(statement.table, context)
    if statement.database is not None and not is_database(statement.database, context.catalog):
        raise PalimpsestError(
            Code.UNKNOWN_TABLE,
            f"there is no database {statement.database}",
            advice=f"leave it out: every schema is in {context.catalog.database}",
        )
    if statement.schema is not None:
        resolve_schema(TableName(statement.schema.db, ""), statement.schema, context)
    if statement.index is not None and not (
        find_index(statement.index, context) or find_key(statement.index, context)
    ):
        raise unknown_index(statement.index, context)
    return StatementPlan(StatementKind.READ, (), tag=statement.tag)
