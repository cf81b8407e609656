"""Values that INSERT .. SELECT puts into columns, read as PostgreSQL reads them. Pure.

INSERT INTO t (a, b) SELECT 2, 'off'        false, in a column of BOOLEAN
INSERT INTO t (d) SELECT '8-Jan-99'         the eighth of January
INSERT INTO t (i) SELECT t FROM ..          a time of day as an INTERVAL, and the other way round
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.sql.typed_constants import typed_constant
from rewriter.reading.inserted_columns import inserted_columns
from rewriter.reading.value_types import ValueTypes

_CLOCKS = {"TIME", "INTERVAL"}


def reads_selected(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a statement that selects what stores read otherwise."""
    return next(_selected_values(tree, types), None) is not None


def read_selected(tree: exp.Expr, types: ValueTypes) -> None:
    """Put the values that they mean in their places."""
    for constant, value in list(_selected_values(tree, types)):
        constant.replace(value)


def _selected_values(tree: exp.Expr, types: ValueTypes) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    for insert in tree.find_all(exp.Insert):
        if not isinstance(insert.expression, exp.Query):
            continue
        columns = inserted_columns(insert, types.context)
        kinds = ["" if column is None else column.type for column in columns]
        for select in _selects(insert.expression):
            for output, kind in zip(select.expressions, kinds, strict=False):
                value = output.unalias()
                if output.is_star:
                    break
                made = typed_constant(value, kind) if value.is_string else value
                if {kind, types.of(value).kind} == _CLOCKS:
                    made = exp.cast(value.copy(), kind, dialect="duckdb")
                if made is not value:
                    yield value, made


def _selects(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows a query gives."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        if not query.args.get("by_name"):
            yield from _selects(query.this)
            yield from _selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query
