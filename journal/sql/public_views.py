"""The views that every client reads, as trees: names, queries, order, DDL. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, View
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.relations_flat import is_flat

RelationKey = tuple[str, str]


def logical(name: TableName) -> exp.Table:
    """The relation of a logical name, where schemas of the store are called as those of clients."""
    return exp.Table(this=ident(name.name), db=ident(name.schema))


def view_names(relation: Relation) -> tuple[TableName, ...]:
    """The names of a relation's views: a table of ours has one of its journal as well."""
    if isinstance(relation, Table) and not is_flat(relation):
        return (relation.name, relation.journal_name)
    return (relation.name,)


def reads(view: View) -> set[RelationKey]:
    """Relations a view names; its text has schemas on all of them, and on nothing else."""
    query = dialects.stored(view.query)
    return {TableName(t.db, t.name).key for t in query.find_all(exp.Table) if t.db}


def present_query(view: View) -> exp.Expr | None:
    """A view's query; None for one of the past, which only the gateway can answer."""
    query = dialects.stored(view.query)
    is_past = any(t.args.get("version") or t.args.get("when") for t in query.find_all(exp.Table))
    return None if is_past else query


def table_keys(catalog: CatalogSnapshot) -> set[RelationKey]:
    """The names of tables, and those of their journals."""
    return {name.key for t in catalog.tables() for name in (t.name, t.journal_name)}


def views_in_order(catalog: CatalogSnapshot) -> list[View]:
    """The clients' views, those that others read first; views of what is not there last."""
    pending = list(catalog.views())
    known = table_keys(catalog)
    ordered: list[View] = []
    while pending:
        ready = [v for v in pending if reads(v) <= known]
        if not ready:
            break
        ordered += ready
        known |= {v.name.key for v in ready}
        pending = [v for v in pending if v not in ready]
    return [*ordered, *pending]


def create_view(place: exp.Table, body: exp.Expr, columns: Sequence[str] = ()) -> exp.Create:
    """Makes a view, or replaces its body where it has the same columns."""
    target: exp.Expr = place.copy()
    if columns:
        target = exp.Schema(this=target, expressions=[ident(c) for c in columns])
    return exp.Create(this=target, kind="VIEW", replace=True, expression=body)


def drop_view(place: exp.Table) -> exp.Drop:
    """Drops a view, if it is there."""
    return exp.Drop(tables=[place.copy()], kind="VIEW", exists=True)


def create_schema(name: str) -> exp.Create:
    """Makes a schema of the store, unless it is there."""
    return exp.Create(this=exp.Table(db=ident(name)), kind="SCHEMA", exists=True)


def drop_schema(name: str, *, cascade: bool = False) -> exp.Drop:
    """Drops a schema of the store, if it is there."""
    bare = exp.Table(db=ident(name))
    return exp.Drop(tables=[bare], kind="SCHEMA", exists=True, cascade=cascade)
