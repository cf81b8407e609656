"""Finds what views read, and refuses to drop it, as PostgreSQL does.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, Relation, TableName, View
from journal.sql import dialects
from journal.sql.cte_scopes import CteScopes
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of


def dependent_views(
    context: RewriteContext, gone: Iterable[TableName], node: exp.Expr, *, cascade: bool
) -> list[Relation]:
    """The views that go with relations, those over views as well; none where the dialect lets them
    stay.

    Raises DEPENDENT_OBJECTS where there is one and the statement does not say ``cascade``.
    """
    if not semantics_of(context.dialect).views_hold:
        return []
    going = {name.key for name in gone}
    found: list[Relation] = []
    while True:
        more = [
            (relation, read)
            for relation in context.catalog.relations.values()
            if relation.name.key not in going
            for read in sorted(sources(relation, context.catalog) & going)
        ]
        if not more:
            return found
        if not cascade:
            view, read = more[0]
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f"view {view.name} reads {'.'.join(read)}",
                advice="drop the view first, or say CASCADE",
                position=position_of(node),
            )
        found += list({v.name.key: v for v, _ in more}.values())
        going |= {view.name.key for view, _ in more}


def sources(relation: Relation, catalog: CatalogSnapshot) -> set[tuple[str, str]]:
    """The keys of what a view reads by name; nothing for a table."""
    text = view_text(relation)
    return set() if text is None else set(_named(text, relation.name.schema, catalog))


def view_text(relation: Relation) -> str | None:
    """The query of a view or a materialized view; None for a table."""
    if isinstance(relation, View):
        return relation.query
    return None if relation.materialized is None else relation.materialized.query


def with_texts(view: Relation, changed: Callable[[str], str]) -> Relation:
    """A view, or a materialized view, with its texts changed."""
    if isinstance(view, View):
        defined = None if view.defined is None else changed(view.defined)
        return replace(view, query=changed(view.query), defined=defined)
    made = view.materialized
    assert made is not None
    defined = None if made.defined is None else changed(made.defined)
    texts = replace(made, query=changed(made.query), defined=defined)
    return replace(view, materialized=texts)


def _named(text: str, schema: str, catalog: CatalogSnapshot) -> Iterator[tuple[str, str]]:
    scopes = CteScopes()
    for table in dialects.stored(text).find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not scopes.holds(table):
            for place in [table.db] if table.db else [schema, catalog.home]:
                name = TableName(place, table.name)
                if catalog.get(name) is not None:
                    yield name.key
                    break
