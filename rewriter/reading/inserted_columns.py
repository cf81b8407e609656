"""The columns that an INSERT writes, by the places of its values; reads no value. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Column, Table
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name


def target_table(written: exp.Expr, context: RewriteContext) -> Table | None:
    """The table that an INSERT, UPDATE or MERGE changes; None for what is no table of ours."""
    target = written.this.this if isinstance(written.this, exp.Schema) else written.this
    if not isinstance(target, exp.Table) or not isinstance(target.this, exp.Identifier):
        return None
    found = context.catalog.get(table_name(target, context))
    return found if isinstance(found, Table) else None


def inserted_columns(insert: exp.Insert, context: RewriteContext) -> list[Column | None]:
    """The column of each value of a row, None for a name that the table lacks.

    No columns, if what the INSERT changes is no table of ours.
    """
    table = target_table(insert, context)
    if table is None:
        return []
    if not isinstance(insert.this, exp.Schema):
        return list(table.columns)
    return [table.find(named.name) for named in insert.this.expressions]
