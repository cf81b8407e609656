"""Which results of a query on the catalog are of PostgreSQL's type ``name``. Pure.

The engine keeps names as texts. Clients read lists of them by their type: Sequelize takes the
columns of an index apart only where they are a ``name[]``.
"""

from __future__ import annotations

from sqlglot import exp

from gateway.servers.pg_catalog.relations import relation_columns
from journal.model.schema import fold

_NAMES = frozenset(
    {
        *("amname", "attname", "cfgname", "collname", "conname", "datname", "enumlabel"),
        *("extname", "indexname", "lanname", "matviewname", "nspname", "opcname", "polname"),
        *("proname", "relname", "rolname", "rulename", "schemaname", "sequencename", "spcname"),
        *("tablename", "tgname", "typname", "usename", "viewname"),
    }
)
"""The columns of that type, by names that no other column of the catalog has."""


def name_types(query: exp.Expr) -> dict[int, str]:
    """``NAME`` and ``NAME[]`` by the places of the results that are of these types."""
    outputs = query.selects if isinstance(query, exp.Select) else []
    if any(output.is_star for output in outputs):
        return {}
    types = {place: _type_of(output.unalias(), query) for place, output in enumerate(outputs)}
    return {place: kind for place, kind in types.items() if kind is not None}


def _type_of(value: exp.Expr, query: exp.Expr) -> str | None:
    match value:
        case exp.Column():
            return "NAME" if _is_name(value, query) else None
        case exp.Paren() | exp.Subquery(this=exp.Paren()):
            return _type_of(value.this, query)
        case exp.ArrayAgg():
            return _list_of(_listed(value.this), query)
        case exp.Array(expressions=[exp.Select() as inner]) if len(inner.selects) == 1:
            return _list_of(inner.selects[0].unalias(), inner)
        case exp.Subquery(this=exp.Select() as inner) if len(inner.selects) == 1:
            return _type_of(inner.selects[0].unalias(), inner)
    return None


def _list_of(element: exp.Expr, query: exp.Expr) -> str | None:
    return "NAME[]" if _type_of(element, query) == "NAME" else None


def _listed(value: exp.Expr) -> exp.Expr:
    """What an aggregate lists, whatever its order."""
    while isinstance(value, exp.Order | exp.Distinct):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    return value


def _is_name(column: exp.Column, query: exp.Expr) -> bool:
    """True for such a column of a relation of the catalog in the query's FROM."""
    name = fold(column.name)
    joins = query.args.get("joins") or []
    start = query.args.get("from_")
    tables = [part.this for part in (start, *joins) if part is not None]
    return name in _NAMES and any(
        isinstance(table, exp.Table)
        and name in relation_columns().get(fold(table.name), {})
        and fold(column.table) in {"", fold(table.alias_or_name)}
        for table in tables
    )
