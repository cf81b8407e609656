"""Rows of the table that is changed, named as values: ``UPDATE t SET a = f(t)``. Pure.

The relation that stands for such a table has columns of our own; its name as a value means
the columns of the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.sql.relations import column, ident
from journal.sql.sql import named
from rewriter.context import RewriteContext
from rewriter.reading.visible_columns import (
    ctes_in_reach,
    enclosing_statements,
    names_of_source,
    relations_of,
)

_ROW = "r"


def spell_out_rows(ast: exp.Expr, table: Table, alias: str, context: RewriteContext) -> None:
    """Put rows of the columns that a client sees in the place of the names of such relations.

    They are the table, the new row of an INSERT and the source of a MERGE.
    """
    names = [column.name for column in table.columns]
    rows = {fold(alias): names}
    if isinstance(ast, exp.Insert):
        rows["excluded"] = names
    elif isinstance(ast, exp.Merge):
        using = ast.args["using"]
        rows[fold(using.alias_or_name)] = names_of_source(
            using, context, ctes_in_reach(ast, context)
        )
    for found in list(ast.find_all(exp.Column)):
        is_cast = isinstance(found.this, exp.Star) and isinstance(_around(found), exp.Cast)
        is_name = isinstance(found.this, exp.Identifier) and not found.table
        name = found.table if is_cast else found.name if is_name else ""
        columns = rows.get(fold(name)) or ()
        if columns and all(columns) and _means_row(found, name, ast, rows, context):
            found.replace(_row_of(columns, name, context))


def _around(node: exp.Expr) -> exp.Expr | None:
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return around


def _means_row(
    node: exp.Column,
    name: str,
    ast: exp.Expr,
    rows: Mapping[str, Sequence[str]],
    context: RewriteContext,
) -> bool:
    """True where no column of that name is in reach, and no other relation has it."""
    wanted, around = fold(name), node.parent
    if isinstance(around, exp.EQ) and node.arg_key == "this":
        if isinstance(around.parent, exp.Update | exp.OnConflict | exp.When):
            return False
    if node.find_ancestor(exp.Returning) is not None:
        return False
    if any(wanted in map(fold, columns) for columns in rows.values()):
        return False
    for scope in enclosing_statements(node):
        reach = ctes_in_reach(scope, context)
        for source in relations_of(scope):
            alias = fold(source.alias_or_name)
            if scope is ast and (source is ast.this or alias in rows):
                continue
            columns = [fold(c) for c in names_of_source(source, context, reach)]
            if not columns or wanted in (*columns, alias):
                return False
        if scope is ast:
            return True
    return False


def _row_of(names: Sequence[str], alias: str, context: RewriteContext) -> exp.Expr:
    columns = [(name, column(name, alias)) for name in names]
    if not context.capabilities.postgres_functions:
        pairs = [exp.PropertyEQ(this=ident(name), expression=value) for name, value in columns]
        return exp.Struct(expressions=pairs)
    row = exp.Select(expressions=[named(value, name) for name, value in columns])
    return exp.Subquery(this=exp.select(column(_ROW)).from_(row.subquery(_ROW), copy=False))
