"""The views that tools see which do not come through the gateway: tables, journals and views.

The logical schemas hold ``depts`` (current view), ``depts_journal``, and the client's own views
where plain DuckDB can answer them. Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.plan import Query
from journal.model.schema import DEFAULT_SCHEMA, CatalogSnapshot, Relation, Table, TableName, View
from journal.model.segment import Tier
from journal.sql import dialects
from journal.sql.relations import Reader, business_outputs, ident


def refresh_table(session: DuckDBSession, table: Table, tiers: frozenset[Tier]) -> None:
    """Make the views of a table: the current view and the journal."""
    _create_schema(session, table.name.schema)
    reader = Reader(table, tiers)
    _create_view(session, table.name, reader.current(business_outputs(table.columns)))
    _create_view(session, table.journal_name, reader.journal())


def drop_changed(session: DuckDBSession, before: CatalogSnapshot, after: CatalogSnapshot) -> None:
    """Take away what a changed catalog no longer has the same way, and make its new schemas."""
    for relation in before.relations.values():
        if after.get(relation.name) == relation:
            continue
        for name in _names(relation):
            _drop(session, exp.Drop(tables=[_logical(name)], kind="VIEW", exists=True))
    for key, schema in before.schemas.items():
        if key not in after.schemas and key != DEFAULT_SCHEMA:
            bare = exp.Table(db=ident(schema))
            _drop(session, exp.Drop(tables=[bare], kind="SCHEMA", exists=True, cascade=True))
    for key, schema in after.schemas.items():
        if key not in before.schemas:
            _create_schema(session, schema)


def refresh_views(session: DuckDBSession, catalog: CatalogSnapshot) -> None:
    """Make every client's view that can be made, those that others read first.

    Each in a transaction of its own, because the store ends the transaction of one that fails.
    """
    pending = list(catalog.views())
    made: set[tuple[str, str]] = {t.name.key for t in catalog.tables()}
    made |= {t.journal_name.key for t in catalog.tables()}
    while pending:
        ready = [v for v in pending if _reads(v) <= made]
        if not ready:
            return
        for view in ready:
            pending.remove(view)
            if _make(session, view):
                made.add(view.name.key)


def _make(session: DuckDBSession, view: View) -> bool:
    query = dialects.stored(view.query)
    if any(t.args.get("version") or t.args.get("when") for t in query.find_all(exp.Table)):
        return False
    session.begin()
    try:
        _create_view(session, view.name, query, view.columns)
        session.commit()
    except PalimpsestError:
        # Only the gateway can answer this view; others do not see it.
        session.rollback()
        return False
    return True


def _reads(view: View) -> set[tuple[str, str]]:
    """Relations a view names; its text has schemas on all of them, and on nothing else."""
    query = dialects.stored(view.query)
    return {TableName(t.db, t.name).key for t in query.find_all(exp.Table) if t.db}


def _names(relation: Relation) -> Iterable[TableName]:
    if isinstance(relation, Table):
        return (relation.name, relation.journal_name)
    return (relation.name,)


def _create_schema(session: DuckDBSession, schema: str) -> None:
    if schema != DEFAULT_SCHEMA:
        create = exp.Create(this=exp.Table(db=ident(schema)), kind="SCHEMA", exists=True)
        session.execute(Query(create, ()), {})


def _create_view(
    session: DuckDBSession, name: TableName, body: exp.Expr, columns: tuple[str, ...] = ()
) -> None:
    target: exp.Expr = _logical(name)
    if columns:
        target = exp.Schema(this=target, expressions=[ident(c) for c in columns])
    create = exp.Create(this=target, kind="VIEW", replace=True, expression=body)
    session.execute(Query(create, ()), {})


def _drop(session: DuckDBSession, drop: exp.Drop) -> None:
    session.execute(Query(drop, ()), {})


def _logical(name: TableName) -> exp.Table:
    return exp.Table(this=ident(name.name), db=ident(name.schema))
