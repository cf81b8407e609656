"""Which results of a query on the catalog are of PostgreSQL's types ``name`` and ``"char"``. Pure.

The engine keeps both as texts. Clients read them by their types: Sequelize takes the columns of an
index apart only where they are a ``name[]``, and sqlx reads the kind of a type as one byte.
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
"""The columns of the type ``name``, by names that no other column of the catalog has."""
_OF_RELATIONS = frozenset(
    {
        *("relname", "tablename", "viewname", "matviewname", "indexname", "sequencename"),
        *("table_name", "sequence_name"),
    }
)
_KINDS = frozenset(
    {
        *("aggkind", "amtype", "attalign", "attcompression", "attgenerated", "attidentity"),
        *("attstorage", "castcontext", "castmethod", "collprovider", "confdeltype"),
        *("confmatchtype", "confupdtype", "contype", "defaclobjtype", "deptype", "ev_enabled"),
        *("ev_type", "evtenabled", "oprkind", "partstrat", "polcmd", "prokind", "proparallel"),
        *("provolatile", "relkind", "relpersistence", "relreplident", "tgenabled", "typalign"),
        *("typcategory", "typdelim", "typstorage", "typtype"),
    }
)
"""The same of the type ``"char"``."""

_FUNCTIONS = frozenset({"typinput", "typoutput", "typreceive", "typsend"})


def is_function_column(value: exp.Expr | None) -> bool:
    """True for a column of ``pg_type`` that names a function of the type."""
    return isinstance(value, exp.Column) and fold(value.name) in _FUNCTIONS


def is_name_column(value: exp.Expr) -> bool:
    """True for a column of a relation's name."""
    return isinstance(value, exp.Column) and fold(value.name) in _OF_RELATIONS


def name_types(query: exp.Expr) -> dict[int, str]:
    """``NAME``, ``"char"`` and lists of them by the places of the results of these types."""
    outputs = query.selects if isinstance(query, exp.Select) else []
    if any(output.is_star for output in outputs):
        return {}
    types = {place: _type_of(output.unalias(), query) for place, output in enumerate(outputs)}
    return {place: kind for place, kind in types.items() if kind is not None}


def _type_of(value: exp.Expr, query: exp.Expr) -> str | None:
    match value:
        case exp.Column():
            return _column_type(value, query)
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
    kind = _type_of(element, query)
    return None if kind is None or kind.endswith("[]") else f"{kind}[]"


def _listed(value: exp.Expr) -> exp.Expr:
    """What an aggregate lists, whatever its order."""
    while isinstance(value, exp.Order | exp.Distinct):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    return value


def _column_type(column: exp.Column, query: exp.Expr) -> str | None:
    """The type of such a column of a relation of the catalog in the query's FROM."""
    name = fold(column.name)
    joins = query.args.get("joins") or []
    start = query.args.get("from_")
    tables = [part.this for part in (start, *joins) if part is not None]
    is_there = any(
        isinstance(table, exp.Table)
        and name in relation_columns().get(fold(table.name), {})
        and fold(column.table) in {"", fold(table.alias_or_name)}
        for table in tables
    )
    kind = "NAME" if name in _NAMES else '"char"' if name in _KINDS else None
    return kind if is_there else None
