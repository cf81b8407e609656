"""DESCRIBE, SUMMARIZE and SHOW TABLES in the place of a relation: ``FROM (DESCRIBE t)``. Pure.

What is described is put there as a query or as constant rows; the store does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.descriptions import describe_rows, shown_type
from rewriter.name_resolution import SYSTEM_SCHEMAS, find_relation, table_name
from rewriter.reading.sources import file_function
from rewriter.reading.summarized import summary

Values = Sequence[str | bool | None]
DESCRIBED = ("column_name", "column_type", "null", "key", "default", "extra")


def describe_relations(nodes: Nodes, context: RewriteContext) -> bool:
    """Say what is described among a query's nodes; true if the query has changed."""
    described = [*nodes.all(exp.Describe), *nodes.all(exp.Summarize)]
    for node in described:
        if not isinstance(node.this, exp.Table):
            continue
        ctes = _ctes_with(node.this)
        asks = isinstance(node, exp.Describe) and ctes is None and not node.args.get("style")
        found = _table_of(node.this, context) if asks else None
        if found is not None:
            node.replace(constant_rows(DESCRIBED, describe_rows(found)))
            continue
        rows = exp.select("*").from_(node.this)
        if ctes is not None:
            rows.set("with_", ctes.copy())
        node.set("this", rows)
        node.set("table", None)  # SUMMARIZE TABLE takes a name alone.
    shown = [s for s in nodes.all(exp.Subquery) if shows_tables(s, context)]
    for subquery in shown:
        schema = fold(context.default_schema)
        names = [r.name.name for r in context.catalog.relations.values() if r.name.key[0] == schema]
        subquery.set("this", constant_rows(("name",), [(n,) for n in sorted(names)]))
    return bool(described or shown)


def describe_queries(query: exp.Expr, context: RewriteContext, tables: frozenset[int]) -> None:
    """Put the columns, as constant rows, in the place of each described query of these tables.

    In the place of a summarized one stands the query that sums it up, if the store lacks the word.
    """
    if context.capabilities.postgres_functions:
        for summed in list(query.find_all(exp.Summarize)):
            summed.replace(summary(summed.this, context.describe(summed.this, tables)))
    for node in list(query.find_all(exp.Describe)):
        found = context.describe(node.this, tables)
        rows = [(name, shown_type(kind), "YES", None, None, None) for name, kind in found]
        node.replace(constant_rows(DESCRIBED, rows))


def _table_of(node: exp.Table, context: RewriteContext) -> Table | None:
    """The table of that name; None for a view, a system relation or a file, which are queries."""
    name = table_name(node, context)
    is_file = file_function(node) is not None and context.catalog.get(name) is None
    if is_file or fold(name.schema) in SYSTEM_SCHEMAS:
        return None
    found = find_relation(node, context)
    return found if isinstance(found, Table) else None


def _ctes_with(node: exp.Table) -> exp.With | None:
    """The CTEs around a name of which one has that name; None if none has."""
    scope = node.find_ancestor(exp.Select)
    while scope is not None:
        ctes = scope.args.get("with_")
        names = [] if ctes is None else [fold(c.alias) for c in ctes.expressions]
        if not node.db and fold(node.name) in names:
            return ctes
        scope = scope.find_ancestor(exp.Select)
    return None


def shows_tables(node: exp.Expr | None, context: RewriteContext) -> bool:
    """True for ``(SHOW TABLES)``, which reads as a table ``show`` under another name."""
    table = node.this if isinstance(node, exp.Subquery) else None
    if not isinstance(table, exp.Table) or table.db or fold(table.name) != "show":
        return False
    return fold(table.alias) == "tables" and context.catalog.get(table_name(table, context)) is None


def constant_rows(names: Sequence[str], rows: Sequence[Values]) -> exp.Query:
    """Constant rows under column names; text unless a value is true or false."""
    if not rows:
        nothing = [exp.alias_(exp.cast(exp.Null(), "VARCHAR"), ident(n)) for n in names]
        return exp.select(*nothing).where(exp.false())
    tuples = [exp.Tuple(expressions=[_value(v) for v in row]) for row in rows]
    alias = exp.TableAlias(this=ident("shown"), columns=[ident(n) for n in names])
    return exp.select("*").from_(exp.Values(expressions=tuples, alias=alias))


def _value(value: str | bool | None) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if value is None:
        return exp.cast(exp.Null(), "VARCHAR")
    return exp.Literal.string(value)
