"""Functions and names of DuckDB that list its catalog; the gateway supplies their rows. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.functions import CATALOG_FUNCTIONS, TABLE_INFO
from rewriter.name_resolution import find_relation, position_of

_MASTER = "info_sqlite_master"
_NAMES = {**CATALOG_FUNCTIONS, "sqlite_master": _MASTER, "sqlite_schema": _MASTER}
_WITHOUT_INTERNAL = frozenset(
    f"info_duckdb_{what}" for what in ("columns", "databases", "schemas", "tables", "views")
)
"""Relations whose views, named without parentheses, leave out what DuckDB itself made."""
_TABLE_INFO_COLUMNS = ("cid", "name", "type", "notnull", "dflt_value", "pk")

Supplied = tuple[str, exp.Query]
"""The name of the relation that the gateway supplies, and the query of it that is meant."""


def catalog_function(name: str, call: exp.Expr, context: RewriteContext) -> Supplied | None:
    """What a table function lists; None for functions that list no catalog.

    Raises UNKNOWN_TABLE for ``pragma_table_info`` of a table that is not there.
    """
    if name == TABLE_INFO:
        return _table_info(call, context)
    relation = CATALOG_FUNCTIONS.get(name)
    return None if relation is None else (relation, exp.select("*").from_(relation))


def catalog_name(node: exp.Table) -> Supplied | None:
    """What a bare name lists that is no table's, such as ``duckdb_tables``; None for others."""
    relation = None if node.db else _NAMES.get(fold(node.name))
    if relation is None:
        return None
    query = exp.select("*").from_(relation)
    if relation in _WITHOUT_INTERNAL:
        query = query.where(exp.Not(this=column("internal")))
    return relation, query


def _table_info(call: exp.Expr, context: RewriteContext) -> Supplied:
    arguments = call.expressions
    if len(arguments) != 1 or not arguments[0].is_string:
        raise PalimpsestError(
            Code.SYNTAX,
            f"{TABLE_INFO} takes the name of a table as a text",
            advice=f"write {TABLE_INFO}('schema.name')",
            position=position_of(call),
        )
    named = exp.to_table(arguments[0].name, dialect="duckdb")
    found = find_relation(named, context).name
    query = exp.select(*(column(c) for c in _TABLE_INFO_COLUMNS)).from_(ident("info_table_info"))
    for key, value in zip(("schema_key", "table_key"), found.key, strict=True):
        query = query.where(exp.EQ(this=column(key), expression=exp.Literal.string(value)))
    return "info_table_info", query
