"""Views that read a column which ALTER TABLE drops: in PostgreSQL they are in the way. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, DropRelation, Step
from journal.model.schema import Table, fold
from rewriter.access.view_columns import columns_read
from rewriter.context import RewriteContext
from rewriter.definitions.dependent_views import dependent_views, sources
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of


def drop_views_of_columns(
    ast: exp.Alter, old: Table, new: Table, context: RewriteContext
) -> list[Step]:
    """What drops the views that read columns which a table loses, and the views over these.

    Raises DEPENDENT_OBJECTS where there is one and the statement does not say CASCADE; gives
    nothing in dialects that let such views stay.
    """
    kept = {column.physical for column in new.columns}
    gone = {fold(column.name) for column in old.columns if column.physical not in kept}
    if not gone or not semantics_of(context.dialect).views_hold:
        return []
    reading = [
        relation
        for relation in context.catalog.relations.values()
        if old.name.key in sources(relation, context.catalog) and columns_read(relation, old) & gone
    ]
    if not reading:
        return []
    if not any(action.args.get("cascade") for action in ast.args["actions"]):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"view {reading[0].name} reads what would be dropped of {old.name}",
            advice="drop the view first, or say CASCADE",
            position=position_of(ast.this),
        )
    names = [view.name for view in reading]
    over = dependent_views(context, names, ast, cascade=True)
    return [Change(DropRelation(view.name)) for view in (*reading, *over)]
