"""Accepts storage actions of ALTER TABLE without effect, after checking names. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.index_names import unknown_index
from rewriter.name_resolution import position_of
from rewriter.syntax.statements.alter_storage import COLUMN, INDEX


def check_storage(change: Alteration, action: exp.Expr, context: RewriteContext) -> None:
    """Raise UNKNOWN_COLUMN, and UNKNOWN_TABLE for an index."""
    table = change.table
    column, index = action.args.get(COLUMN), action.args.get(INDEX)
    if column is not None:
        change.column_index(column.name, column)
    if index is not None:
        names = [u.name for u in change.draft.uniques] + [i.name for i in table.indexes]
        names.append(change.draft.key_name or f"{table.name.name}_pkey")
        if fold(index.name) not in {fold(name) for name in names if name}:
            raise unknown_index(exp.Table(this=index), context)


def check_references_stay(table: Table, context: RewriteContext, node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for DISABLE TRIGGER ALL of a table that has or meets foreign keys."""
    references = (key for t in context.catalog.tables() for key in t.foreign_keys)
    if table.foreign_keys or any(key.parent == table.id for key in references):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the foreign keys of {table.name} cannot be switched off: DISABLE TRIGGER ALL",
            advice="load parents first, or SET CONSTRAINTS ALL DEFERRED for those DEFERRABLE",
            position=position_of(node),
        )
