"""The table that a COPY .. FROM fills, as its session finds it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import CatalogSnapshot, Table, TableName


def copied_table(ast: exp.Expr, catalog: CatalogSnapshot, path: Sequence[str]) -> Table | None:
    """The table of a COPY, with the schemas of ``path`` for a bare name; None where none is.

    Behind the path is the home schema, for dialects that look there; others refuse the rows of it.
    """
    node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    if not isinstance(node, exp.Table):
        return None
    own = () if catalog.own is None else (catalog.own,)
    for schema in (node.db,) if node.db else (*own, *path, catalog.home):
        found = catalog.get(TableName(schema, node.name))
        if found is not None:
            return found if isinstance(found, Table) else None
    return None
