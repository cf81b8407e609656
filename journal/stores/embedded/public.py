"""The views for tools that read the database without the gateway.

The logical schemas hold ``depts`` (current view), ``depts_journal``, and the client's own views
where plain DuckDB can answer them. Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.plan import Query
from journal.model.schema import DEFAULT_SCHEMA, CatalogSnapshot, Table, View
from journal.model.segment import Tier
from journal.sql.public_views import (
    create_schema,
    create_view,
    drop_schema,
    drop_view,
    logical,
    present_query,
    reads,
    table_keys,
    view_names,
    views_in_order,
)
from journal.sql.relations import Reader, business_outputs


def refresh_table(session: DuckDBSession, table: Table, tiers: frozenset[Tier]) -> None:
    """Make the views of a table: the current view and the journal."""
    _create_schema(session, table.name.schema)
    reader = Reader(table, tiers)
    current = reader.current(business_outputs(table.columns))
    _run(session, create_view(logical(table.name), current))
    _run(session, create_view(logical(table.journal_name), reader.journal()))


def drop_changed(session: DuckDBSession, before: CatalogSnapshot, after: CatalogSnapshot) -> None:
    """Take away what a changed catalog no longer has the same way, and make its new schemas."""
    for relation in before.relations.values():
        if after.get(relation.name) == relation:
            continue
        for name in view_names(relation):
            _run(session, drop_view(logical(name)))
    for key, schema in before.schemas.items():
        if key not in after.schemas and key != DEFAULT_SCHEMA:
            _run(session, drop_schema(schema, cascade=True))
    for key, schema in after.schemas.items():
        if key not in before.schemas:
            _create_schema(session, schema)


def refresh_views(session: DuckDBSession, catalog: CatalogSnapshot) -> None:
    """Make every client's view that can be made, those that others read first.

    Each in a transaction of its own, because the store ends the transaction of one that fails.
    """
    made = table_keys(catalog)
    for view in views_in_order(catalog):
        if reads(view) <= made and _make(session, view):
            made.add(view.name.key)


def _make(session: DuckDBSession, view: View) -> bool:
    query = present_query(view)
    if query is None:
        return False
    session.begin()
    try:
        _run(session, create_view(logical(view.name), query, view.columns))
        session.commit()
    except PalimpsestError:
        # Only the gateway can answer this view; others do not see it.
        session.rollback()
        return False
    return True


def _create_schema(session: DuckDBSession, schema: str) -> None:
    if schema != DEFAULT_SCHEMA:
        _run(session, create_schema(schema))


def _run(session: DuckDBSession, ast: exp.Expr) -> None:
    session.execute(Query(ast, ()), {})
