"""The values of a column that ALTER TABLE adds without a DEFAULT. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.schema import Column, Table
from journal.sql.relations import column
from rewriter.definitions.generated_values import generated_value


def value_of_added(stored: Column, table: Table, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """The value of a generated column, or its number, by the order of keys.

    ``table`` has the new column; ``values`` are those of columns that the same statement adds.
    """
    made = stored.identity
    if made is None:
        return generated_value(table, stored, lambda name: values.get(name, column(name)).copy())
    order = [exp.Ordered(this=column(name), nulls_first=False) for name in table.key]
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order), over="OVER")
    before = exp.Paren(this=exp.Sub(this=place, expression=exp.Literal.number(1)))
    steps = exp.Mul(this=before, expression=exp.convert(made.increment))
    return exp.Add(this=exp.convert(made.first), expression=steps)
