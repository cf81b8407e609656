"""CHECKPOINT, ANALYZE, CLUSTER and the like, which tools send to look after a store.

The gateway seals, merges and measures journals itself, so these change nothing. What they name must
be there. Pure.
"""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import StatementKind, StatementPlan
from rewriter.context import RewriteContext
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
    return StatementPlan(StatementKind.READ, (), tag=statement.tag)
