"""Calls of macros in queries that are kept: a view means what its macros stand for now. Pure.

CREATE VIEW v AS SELECT f(a) FROM t     keeps main.f(a) beside what that stands for

Those of temporary macros, which end with the session, keep what they stood for.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import DefinitionKey, Macro, MacroBody, definition_key
from journal.model.schema import Relation, TableName, View
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.dependent_views import dependent_views
from rewriter.definitions.macros import called_macro, form_for, has_macros
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of

_NAMED = "named"
"""The mark of a CREATE VIEW with the query that it had before its macros were replaced."""


def note_calls(ast: exp.Expr, context: RewriteContext) -> exp.Query | None:
    """Mark a CREATE VIEW with its query, schemas on the macros in it, before it is expanded.

    Gives that query; None for one without macros.
    """
    query = ast.expression if isinstance(ast, exp.Create) else None
    if not isinstance(query, exp.Query) or not has_macros(context):
        return None
    named = copy_tree(query)
    calls = [(call, called_macro(call, context)) for call in named.find_all(exp.Anonymous)]
    macros = [(call, macro) for call, macro in calls if macro is not None]
    if not macros or any(context.catalog.is_own(macro.name) for _, macro in macros):
        return None
    for call, macro in macros:
        _name_schema(call, ident(macro.name.schema))
    ast.meta[_NAMED] = named
    return named


def named_query(ast: exp.Create) -> exp.Query | None:
    """The query of a CREATE VIEW with its calls of macros; None if it has none that are kept."""
    found = ast.meta.get(_NAMED)
    return found if isinstance(found, exp.Query) else None


def defined_text(relation: Relation) -> str | None:
    """The query of a view that calls macros, with these calls; None for others."""
    if isinstance(relation, View):
        return relation.defined
    return None if relation.materialized is None else relation.materialized.defined


def views_of_function(
    found: Macro,
    gone: tuple[MacroBody, ...],
    node: exp.Expr,
    context: RewriteContext,
    *,
    cascade: bool,
) -> list[Relation]:
    """The views that go with forms of a function; none where the dialect lets them stay.

    Raises DEPENDENT_OBJECTS where there is one and the statement does not say ``cascade``.
    """
    if not semantics_of(context.dialect).views_hold:
        return []
    views = [
        relation
        for relation in context.catalog.relations.values()
        if _calls(relation, found, gone, context)
    ]
    if views and not cascade:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"cannot drop function {found.name.name}: view {views[0].name} calls it",
            advice="drop the view first, or say CASCADE",
            position=position_of(node),
        )
    names: list[TableName] = [view.name for view in views]
    return [*views, *dependent_views(context, names, node, cascade=True)]


def _calls(
    relation: Relation, found: Macro, gone: tuple[MacroBody, ...], context: RewriteContext
) -> bool:
    text, key = defined_text(relation), definition_key(found)
    if text is None:
        return False
    within = context.in_schema(relation.name.schema)
    return any(
        _key_of(called_macro(call, within)) == key and form_for(call, found)[0] in gone
        for call in dialects.stored(text).find_all(exp.Anonymous)
    )


def _key_of(macro: Macro | None) -> DefinitionKey | None:
    return None if macro is None else definition_key(macro)


def _name_schema(call: exp.Anonymous, schema: exp.Identifier) -> None:
    """Put a schema before a call that names none."""
    parent = call.parent
    if isinstance(parent, exp.Table):
        parent.set("db", schema)
    elif not (isinstance(parent, exp.Dot) and parent.expression is call):
        call.replace(exp.Dot(this=schema, expression=call.copy()))
