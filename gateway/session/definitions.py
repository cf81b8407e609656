"""What definitions need to know of the store: column types and dropped tables.

Each function makes a callback for the rewriter, bound to one statement's stay in the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from gateway.system_views.source import ViewColumns
from gateway.system_views.system import without_rows
from journal.model.catalog import apply
from journal.model.errors import PalimpsestError
from journal.model.plan import Fetch, Query
from journal.model.schema import Table, TableName, View
from journal.sql.relations import WHOLE_TIER, ident
from journal.transactions.protocol import OpenStatement
from rewriter.context import Describe, Dropped, RewriteContext
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SqlStatement


def describer(statement: OpenStatement, parameters: Mapping[str, Any]) -> Describe:
    """Finds the columns of a query by asking the store, which does not run it."""

    def describe(query: Any, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
        statement.show(tables, tables)
        found = Query.of(_reading_whole_tiers(query))
        # Numbers that only the run will know are versions; any stands for their type.
        snapshot = statement.transaction.snapshot.version
        bound = {name: parameters.get(name, snapshot) for name in found.parameters}
        with _supplied_relations(statement, found.ast):
            return tuple((c.name, c.type) for c in statement.session.describe(found, bound))

    return describe


@contextmanager
def _supplied_relations(statement: OpenStatement, query: exp.Expr) -> Iterator[None]:
    """While a query is described, let it read what the gateway supplies; no rows are needed."""
    named = {table.name for table in query.find_all(exp.Table) if not table.db}
    empty = {name: found for name in sorted(named) if (found := without_rows(name)) is not None}
    for name, rows in empty.items():
        statement.session.show_arrow(name, rows)
    try:
        yield
    finally:
        statement.session.hide(*empty)


def _reading_whole_tiers(query: exp.Expr) -> exp.Expr:
    """The query with whole tiers in the place of files, which only a plan that runs has found."""
    if all(WHOLE_TIER not in table.meta for table in query.find_all(exp.Table)):
        return query
    found = query.copy()
    for table in list(found.find_all(exp.Table)):
        if WHOLE_TIER in table.meta:
            alias = table.args.get("alias")
            whole = table.meta[WHOLE_TIER].copy()
            whole.set("alias", alias)
            table.replace(whole)
    return found


def dropped_tables(statement: OpenStatement) -> Dropped:
    """Finds the table that had a name last and is gone, in the transaction itself or before it."""

    def dropped(name: TableName) -> Table | None:
        transaction = statement.transaction
        snapshot = transaction.snapshot
        catalogs = [*snapshot.catalogs_until(snapshot.version), snapshot.catalog]
        for _, change in transaction.changes():
            catalogs.append(apply(catalogs[-1], change))
        renamed: Table | None = None
        for catalog in reversed(catalogs):
            found = catalog.get(name)
            if not isinstance(found, Table):
                continue
            if transaction.catalog.by_id(found.id) is None:
                return found
            renamed = renamed or found
        return renamed

    return dropped


def view_columns(statement: OpenStatement, context: RewriteContext) -> ViewColumns:
    """Finds names and types of a view's columns; of one that no longer works, the names alone."""
    describe = describer(statement, {})

    def columns(view: View) -> Sequence[tuple[str, str]]:
        name = exp.Table(this=ident(view.name.name), db=ident(view.name.schema))
        query = exp.select("*").from_(name)
        try:
            plan = rewrite_statement(SqlStatement(query), context)
            (step,) = plan.steps
            assert isinstance(step, Fetch)
            assert isinstance(step.query.ast, exp.Query)
            return describe(step.query.ast, plan.tables)
        except PalimpsestError:
            return [(name, "NULL") for name in view.columns]

    return columns
