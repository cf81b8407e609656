"""Columns that a query names, and that one of its sources has twice. Pure.

SELECT a FROM (SELECT 1 AS a, 2 AS a) q     which of the two is open: PostgreSQL refuses it
SELECT * FROM (SELECT 1 AS a, 2 AS a) q     names neither

Other stores would take the first one.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.name_resolution import position_of
from rewriter.reading.visible_columns import (
    ctes_in_reach,
    enclosing_statements,
    names_of_source,
    relations_of,
)


def check_doubled(tree: exp.Expr, context: RewriteContext) -> None:
    """Raise AMBIGUOUS_COLUMN for a column that its source has more than once."""
    if tree.find(exp.Subquery, exp.CTE) is None:
        return
    known: dict[int, list[tuple[str, list[str]]]] = {}
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Identifier) and not column.args.get("db"):
            _check(column, context, known)


def _check(
    column: exp.Column, context: RewriteContext, known: dict[int, list[tuple[str, list[str]]]]
) -> None:
    name, wanted = fold(column.name), fold(column.table) if column.table else ""
    for scope in enclosing_statements(column):
        if _orders_by_output(column, scope):
            return
        if id(scope) not in known:
            known[id(scope)] = _names(scope, context)
        for alias, names in known[id(scope)]:
            times = names.count(name) if wanted in {"", alias} else 0
            if times > 1:
                raise PalimpsestError(
                    Code.AMBIGUOUS_COLUMN,
                    f'column reference "{column.name}" is ambiguous',
                    advice=f"{alias} has {times} columns of that name: give them aliases",
                    position=position_of(column),
                )
            if times:
                return


def _names(scope: exp.Expr, context: RewriteContext) -> list[tuple[str, list[str]]]:
    """The folded names of the columns of what a scope reads, by alias."""
    reach = ctes_in_reach(scope, context)
    return [
        (fold(source.alias_or_name), [fold(n) for n in names_of_source(source, context, reach)])
        for source in relations_of(scope)
    ]


def _orders_by_output(column: exp.Column, scope: exp.Expr) -> bool:
    """True for a term of ORDER BY that is the alias of an output."""
    term = column.parent
    return (
        isinstance(scope, exp.Select)
        and isinstance(term, exp.Ordered)
        and term.parent is scope.args.get("order")
        and not column.table
        and any(fold(o.alias) == fold(column.name) for o in scope.expressions)
    )
