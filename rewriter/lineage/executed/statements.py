"""Lineage of statements that have no tree of their own: REFRESH and RESTORE, as the INSERTs that
they come to."""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import StatementPlan
from journal.model.schema import Table
from journal.sql.dialects import stored
from rewriter.context import RewriteContext
from rewriter.lineage.executed.trace import StatementTrace
from rewriter.name_resolution import table_name
from rewriter.statement import RefreshView, Restore


def rows_refreshed(
    statement: RefreshView, context: RewriteContext, plan: StatementPlan
) -> StatementTrace | None:
    """The rows of a materialised view come from its query; None where it gets none."""
    table = context.catalog.get(table_name(statement.table, context))
    made = table.materialized if isinstance(table, Table) else None
    if table is None or made is None or not statement.with_data:
        return None
    target = exp.table_(table.name.name, db=table.name.schema, quoted=True)
    filled = exp.Insert(this=target, expression=stored(made.query))
    return StatementTrace(filled, context.in_schema(table.name.schema)).planned(plan)


def rows_restored(
    statement: Restore, context: RewriteContext, plan: StatementPlan
) -> StatementTrace:
    """Rows that come back from a table's own past, or from a backup of it."""
    same = exp.select("*").from_(statement.table.copy())
    filled = exp.Insert(this=statement.table.copy(), expression=same)
    return StatementTrace(filled, context).planned(plan)
