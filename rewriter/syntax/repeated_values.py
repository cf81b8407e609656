"""Expands DuckDB's assignment of one value to several columns.

UPDATE t SET (a, b) = 3    becomes  UPDATE t SET (a, b) = (3, 3)

Each column has an expression of its own: ``random()`` gives each another number, as in DuckDB.
Pure.
"""

from __future__ import annotations

from sqlglot import exp

_CLAUSES = (exp.Update, exp.OnConflict)


def spell_out_repeated(ast: exp.Expr) -> exp.Expr:
    """The statement with as many values as columns where one stands for all of them."""
    for clause in ast.find_all(*_CLAUSES):
        for node in clause.expressions:
            if isinstance(node, exp.EQ) and isinstance(node.this, exp.Tuple):
                _spread(node, len(node.this.expressions))
    return ast


def _spread(node: exp.EQ, count: int) -> None:
    value = node.expression
    if count > 1 and _is_one_value(value):
        copies = [value.copy() for _ in range(count)]
        node.set("expression", exp.Tuple(expressions=copies))


def _is_one_value(value: exp.Expr) -> bool:
    if isinstance(value, exp.Subquery):
        query = value.unnest()
        return isinstance(query, exp.Select) and (
            len(query.selects) == 1 and not query.selects[0].is_star
        )
    is_row = isinstance(value, exp.Anonymous) and value.name.upper() == "ROW"
    return not is_row and not isinstance(value, exp.Tuple)
