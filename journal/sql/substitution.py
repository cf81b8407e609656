"""Queries in place of the relations that a tree names: AST in, AST out."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.model.schema import fold


def in_terms_of(ast: exp.Expr, find: Callable[[str], exp.Query | None]) -> exp.Expr:
    """A tree in which the relations of our schema that ``find`` knows are what it says."""
    holder = exp.Paren(this=ast)
    for table in list(holder.find_all(exp.Table)):
        rows = find(table.name) if fold(table.db) == STORE_SCHEMA else None
        if rows is not None:
            put_in_place(table, rows)
    found = holder.this
    assert isinstance(found, exp.Expr)
    found.pop()
    return found


def put_in_place(table: exp.Table, rows: exp.Query) -> None:
    """Let a query stand where a tree names a relation."""
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
    found = exp.Subquery(this=rows, alias=alias)
    for arg in ("joins", "laterals", "pivots", "sample"):
        found.set(arg, table.args.get(arg))
    table.replace(found)
