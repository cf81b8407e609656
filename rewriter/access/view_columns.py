"""Finds which columns of a table or view another view reads. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Relation, View, fold
from journal.sql import dialects
from journal.sql.cte_scopes import is_cte
from rewriter.access.used_columns import holder_of, used_columns
from rewriter.definitions.dependent_views import view_text


def columns_read(view: Relation, source: Relation) -> frozenset[str]:
    """The folded names of the columns that a view reads, or may read, of a table or view."""
    text = view_text(view)
    if text is None:
        return frozenset()
    shown = source.columns if isinstance(source, View) else [c.name for c in source.columns]
    names, found = frozenset(map(fold, shown)), frozenset[str]()
    for node in dialects.stored(text).find_all(exp.Table):
        if fold(node.name) != fold(source.name.name) or is_cte(node):
            continue
        used = used_columns(holder_of(node), node.alias_or_name, names, lambda _: None)
        found |= names if used is None else used
    return found
