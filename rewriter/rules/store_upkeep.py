"""CHECKPOINT, ANALYZE, CLUSTER and the like, which tools send to look after a store.

The gateway seals and merges journals itself, so these change no row. What they name must be there.
ANALYZE has a store look at tables whose optimizer goes by what it saw. Pure.
"""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Analyze, StatementKind, StatementPlan
from journal.model.schema import TableName, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.index_names import find_index, find_key, unknown_index
from rewriter.definitions.new_relations import resolve_schema
from rewriter.name_resolution import find_table, is_database
from rewriter.statement import StoreUpkeep


def rewrite_store_upkeep(statement: StoreUpkeep, context: RewriteContext) -> StatementPlan:
    """A plan without rows; raises UNKNOWN_TABLE for a table or database that is not there."""
    tables = list(context.catalog.tables())
    if statement.table is not None:
        tables = [find_table(statement.table, context)]
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
    if not statement.analyzes or not context.capabilities.analyzes:
        return StatementPlan(StatementKind.READ, (), tag=statement.tag)
    kept = [t for t in tables if not context.catalog.is_own(t.name)]
    owned = tuple(t.id for t in kept if context.rights.owns(relation_key(t)))
    return StatementPlan(StatementKind.READ, (Analyze(owned),), tag=statement.tag)
