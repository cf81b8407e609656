"""Views that call a macro which gets another body: they mean what it stands for from now on. Pure.

CREATE OR REPLACE FUNCTION f    every view with f in its query gets what f stands for now
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import Definition, Macro, PutDefinition, definition_key
from journal.model.plan import Change, PutRelation, Step
from journal.model.schema import Relation, View
from journal.sql import dialects
from rewriter.checks.allowed import check_allowed
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.kept_calls import defined_text
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.sequences import name_owned, sequence_calls, without_calls
from rewriter.definitions.user_types import name_types
from rewriter.name_resolution import position_of
from rewriter.reading.enum_texts import text_enums
from rewriter.reading.enum_values import type_enum_values
from rewriter.reading.fixed_stars import fix_stars
from rewriter.reading.qualified_names import qualify
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.user_words import read_user_words


def read_words(tree: exp.Expr, context: RewriteContext) -> None:
    """Read what words and constants of a statement mean, in place, once its macros are replaced.

    Raises what ``check_allowed`` does.
    """
    read_user_words(check_allowed(tree, context.limits), context)
    name_owned(tree, context)
    type_enum_values(tree, context)
    text_enums(tree, context)


def keep_names(query: exp.Query, context: RewriteContext) -> None:
    """Let the names in a query that is kept mean what they mean now, in place."""
    qualify(query, context)
    fix_stars(query, context)
    name_types(query, context)


def put_macro(
    made: Macro, known: Definition | None, node: exp.Expr, context: RewriteContext
) -> list[Step]:
    """Steps that put a macro into the catalog, and into the views that call it.

    Raises DEPENDENT_OBJECTS for a view that cannot be one with it. ``node`` names the macro.
    """
    then = replace(context, catalog=context.catalog.with_definition(made, known))
    steps: list[Step] = [Change(PutDefinition(made, known))]
    for view in context.catalog.relations.values():
        text = defined_text(view)
        if text is None:
            continue
        try:
            changed = _rebuilt(view, text, made, then)
        except PalimpsestError as error:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f"view {view.name} calls {made.name.name} and could not any more: {error.message}",
                advice="drop the view first, or make it anew afterwards without the call",
                position=position_of(node),
            ) from error
        if changed is not None:
            steps.append(Change(PutRelation(changed)))
    return steps


def _rebuilt(view: Relation, text: str, made: Macro, context: RewriteContext) -> Relation | None:
    """The view with what its macros stand for now; None for one that does not come by ``made``."""
    within = context.in_schema(view.name.schema)
    root = exp.Subquery(this=dialects.stored(text))
    if definition_key(made) not in expand_macros(root, within):
        return None
    read_words(root, within)
    query = root.this
    keep_names(query, within)
    _check_kept(query)
    changed = canonical_text(query)
    reads = Reads(within)
    reads.rewrite(root)
    shape = without_calls(root.this.copy())
    assert isinstance(shape, exp.Query)
    width = len(context.describe(shape, frozenset(reads.tables)))
    if width != len(view.columns):
        raise PalimpsestError(
            Code.COLUMN_COUNT,
            f"its query has {width} columns then, not {len(view.columns)}",
            advice="drop the view first",
        )
    if isinstance(view, View):
        return replace(view, query=changed)
    assert view.materialized is not None
    return replace(view, materialized=replace(view.materialized, query=changed))


def _check_kept(query: exp.Expr) -> None:
    for call in sequence_calls(query):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a view cannot call {call.name}, which differs at every look",
            advice="call it in the queries on the view",
        )
