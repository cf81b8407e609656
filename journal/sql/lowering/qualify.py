"""QUALIFY as a query around, for stores that lack the clause, and DISTINCT ON as a QUALIFY.

The condition is computed beside the outputs, as the values of ORDER BY are, and the query around
filters by it before it sorts and counts. sqlglot's own way leaves ORDER BY, LIMIT and DISTINCT
inside, where they come before the filter, and shows its columns behind a star. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.relations import column, ident

_ROWS = "_palimpsest_rows"
_KEPT = "_palimpsest_kept"
_OUTPUT = "_palimpsest_output"
_VALUE = "_palimpsest_value"
_AROUND = ("with_", "limit", "offset")
"""Clauses that apply to the rows that are left."""


def filter_around(select: exp.Select, outputs: Sequence[exp.Expr]) -> exp.Select:
    """A query in the place of one with QUALIFY, whose ``outputs`` these are, without stars."""
    condition = select.args["qualify"].pop().this
    around = exp.Select()
    select.replace(around)
    shown = [_named(output, place) for place, output in enumerate(outputs)]
    values = _Values(shown)
    for clause in _AROUND:
        found = select.args.get(clause)
        if found is not None:
            select.set(clause, None)
            around.set(clause, found)
    distinct = select.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    if distinct is not None:
        select.set("distinct", None)
        around.set("distinct", distinct)
        for value in [] if on is None else list(on.expressions):
            _refer(value, outputs, values, by_place=False)
    order = select.args.get("order")
    if order is not None:
        select.set("order", None)
        around.set("order", order)
        for item in order.expressions:
            value = item.this if isinstance(item, exp.Ordered) else item
            _refer(value, outputs, values, by_place=distinct is not None and on is None)
    kept = exp.alias_(condition, ident(_KEPT), copy=False)
    select.set("expressions", [*shown, *values.others, kept])
    rows = exp.Subquery(this=select, alias=exp.TableAlias(this=ident(_ROWS)))
    around.set("from_", exp.From(this=rows))
    around.set("expressions", [_output(output, place) for place, output in enumerate(outputs)])
    around.set("where", exp.Where(this=column(_KEPT, _ROWS)))
    return around


def rank_distinct(select: exp.Select) -> None:
    """Let a QUALIFY choose the first row of each group that DISTINCT ON names.

    Raises NOT_SUPPORTED beside another QUALIFY, which would come first.
    """
    distinct = select.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    if on is None:
        return
    if select.args.get("qualify") is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this store has no DISTINCT ON beside QUALIFY",
            advice="choose the rows in a subquery",
        )
    order = select.args.get("order")
    items = list(on.expressions) if order is None else list(order.expressions)
    ordered = exp.Order(expressions=[item.copy() for item in items])
    for item in ordered.expressions:
        value = item.this if isinstance(item, exp.Ordered) else item
        value.replace(_expression_of(value, select))
    window = exp.Window(
        this=exp.RowNumber(),
        partition_by=[_expression_of(value, select) for value in on.expressions],
        order=ordered,
    )
    first = exp.EQ(this=window, expression=exp.Literal.number(1))
    select.set("distinct", None)
    select.set("qualify", exp.Qualify(this=first))


def _expression_of(value: exp.Expr, select: exp.Select) -> exp.Expr:
    """A copy of the expression that the place or the name of an output stands for."""
    outputs = select.selects
    if isinstance(value, exp.Literal) and value.is_int and not any(o.is_star for o in outputs):
        place = int(value.name) - 1
        return outputs[place].unalias().copy() if place in range(len(outputs)) else value.copy()
    if isinstance(value, exp.Column) and not value.table:
        for output in outputs:
            if isinstance(output, exp.Alias) and fold(output.alias) == fold(value.name):
                return output.unalias().copy()
    return value.copy()


class _Values:
    """The values that the query around refers to: outputs, and others that are added to them."""

    def __init__(self, shown: Sequence[exp.Alias]) -> None:
        self._known = [(alias.this.copy(), alias.alias) for alias in shown]
        self.others: list[exp.Expr] = []

    def reference(self, value: exp.Expr) -> exp.Column:
        """The column in which a value is found."""
        for known, name in self._known:
            if known == value:
                return column(name, _ROWS)
        name = f"{_VALUE}_{len(self.others)}"
        self.others.append(exp.alias_(value.copy(), ident(name)))
        self._known.append((value.copy(), name))
        return column(name, _ROWS)


def _refer(
    value: exp.Expr, outputs: Sequence[exp.Expr], values: _Values, *, by_place: bool
) -> None:
    """Put a column, or the place of an output, in the place of what ORDER BY names.

    A number stands for the same output. Behind DISTINCT some stores order by outputs alone.
    """
    if isinstance(value, exp.Literal):
        return
    place = None
    if isinstance(value, exp.Column) and not value.table:
        named = [fold(o.alias) if isinstance(o, exp.Alias) else None for o in outputs]
        place = named.index(fold(value.name)) if fold(value.name) in named else None
    if place is None:
        plain = [output.unalias() for output in outputs]
        place = plain.index(value) if value in plain else None
    if place is None:
        value.replace(values.reference(value))
    elif by_place:
        value.replace(exp.Literal.number(place + 1))
    else:
        value.replace(column(f"{_OUTPUT}_{place}", _ROWS))


def _named(output: exp.Expr, place: int) -> exp.Alias:
    """An output under a name of its own, because two may have one name."""
    return exp.Alias(this=output.unalias().copy(), alias=ident(f"{_OUTPUT}_{place}"))


def _output(output: exp.Expr, place: int) -> exp.Expr:
    found = column(f"{_OUTPUT}_{place}", _ROWS)
    if isinstance(output, exp.Alias):
        return exp.alias_(found, output.args["alias"].copy())
    return exp.alias_(found, ident(_name_of(output)))


def _name_of(output: exp.Expr) -> str:
    """What PostgreSQL calls an output without an alias: after its column or function."""
    if isinstance(output, exp.Column):
        return output.name
    if isinstance(output, exp.Anonymous):
        return output.name.lower()
    if isinstance(output, exp.Window | exp.Cast | exp.Paren | exp.Filter):
        return _name_of(output.this)
    return output.sql_name().lower() if isinstance(output, exp.Func) else "?column?"
