"""Whole rows as values, which stores write in other ways than PostgreSQL. Pure.

SELECT t FROM t, SELECT t::text FROM t      refused: the text of a row is PostgreSQL's own
SELECT to_json(t), count(t), t IS NULL      taken: the row itself is not shown
SELECT FROM t                               refused: rows without values
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.visible_columns import (
    ctes_in_reach,
    enclosing_statements,
    names_of_source,
    relations_of,
)


def check_whole_rows(tree: exp.Expr, context: RewriteContext) -> None:
    """Raise NOT_SUPPORTED for a row that a query shows, or casts, and for rows without values."""
    if isinstance(tree, exp.Select) and not tree.expressions:
        raise not_here(tree, "a SELECT without a list", "write SELECT 1, or SELECT count(*)")
    for column in tree.find_all(exp.Column):
        if not column.table and isinstance(column.this, exp.Identifier) and _is_shown(column):
            if any(_names_row(column, s, context) for s in enclosing_statements(column)):
                raise not_here(
                    column,
                    f'the whole row "{column.name}" as a value',
                    f"name its columns, or write to_json({column.name})",
                )


def _is_shown(column: exp.Column) -> bool:
    """True for an output of a query or of RETURNING, and for what is cast."""
    output = column.parent if isinstance(column.parent, exp.Alias) else column
    is_output = isinstance(output.parent, exp.Select | exp.Returning)
    is_output = is_output and output.arg_key == "expressions"
    around = column.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return is_output or isinstance(around, exp.Cast)


def _names_row(column: exp.Column, scope: exp.Expr, context: RewriteContext) -> bool:
    """True where a source has the name, and is known to have no such column, as all others."""
    name, sources = fold(column.name), relations_of(scope)
    if name not in {fold(source.alias_or_name) for source in sources}:
        return False
    reach, is_source = ctes_in_reach(scope, context), False
    for source in sources:
        names = [fold(n) for n in names_of_source(source, context, reach)]
        if not names or name in names:
            return False
        is_named = isinstance(source, exp.Subquery) or isinstance(source.this, exp.Identifier)
        is_source = is_source or (is_named and fold(source.alias_or_name) == name)
    return is_source
