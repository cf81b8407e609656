"""Rows in the order of addresses, where these are texts in another order. Pure.

SELECT DISTINCT a .. ORDER BY a      orders the rows of a query that has them once each
SELECT a .. UNION .. ORDER BY 1      and those of queries that are put together
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import call
from journal.sql.network_calls import KEY
from journal.sql.relations import column, ident
from rewriter.name_resolution import position_of
from rewriter.reading.network.types import NetworkTypes
from rewriter.reading.visible_columns import ctes_in_reach, names_of_source, relations_of
from rewriter.syntax.postgres_names import postgres_name

_OUTSIDE = ("with_", "order", "limit", "offset")
_ROWS = "different_rows"


def ordered_value(node: exp.Ordered, types: NetworkTypes) -> exp.Expr | None:
    """What rows are ordered by: an expression, or an output by its name or number.

    None for a term that ``order_outside`` sees to.
    """
    by, query = node.this, node.parent.parent if node.parent is not None else None
    if isinstance(query, exp.Query) and _is_ordered_outside(query, types):
        return None
    if not isinstance(query, exp.Select) or node.parent is not query.args.get("order"):
        return by if isinstance(by, exp.Expr) else None
    return _output(by, query, types) or by


def _is_ordered_outside(query: exp.Expr, types: NetworkTypes) -> bool:
    """True for queries of which outputs alone can be ordered, or computed ones of groups."""
    if isinstance(query, exp.SetOperation) or _is_distinct(query):
        return True
    order = query.args.get("order")
    if order is None or not isinstance(query, exp.Select) or not query.args.get("group"):
        return False
    values = [_output(term.this, query, types) for term in order.expressions]
    if any(value is None for value in values):
        return False
    return any(
        not isinstance(value, exp.Column) and types.network(value) is not None
        for value in values
        if value is not None
    )


def _is_distinct(query: exp.Expr | None) -> bool:
    distinct = query.args.get("distinct") if isinstance(query, exp.Select) else None
    return distinct is not None and distinct.args.get("on") is None


def _output(by: exp.Expr, query: exp.Select, types: NetworkTypes) -> exp.Expr | None:
    """The output that a term of ORDER BY names; None for an expression of its own."""
    selects = query.selects
    if isinstance(by, exp.Literal) and by.is_int:
        placed = _placed(int(by.name), query, types)
        return None if placed is None else placed.unalias()
    if isinstance(by, exp.Column) and not by.table:
        for output in selects:
            if isinstance(output, exp.Alias) and fold(output.alias) == fold(by.name):
                inner: exp.Expr = output.this
                return inner
    named = (o.unalias() for o in selects if o.unalias() == by)
    return next(named, None)


def _placed(place: int, query: exp.Select, types: NetworkTypes) -> exp.Expr | None:
    """The output at a place, counted from 1; the star whose columns cannot be told, if it is in
    the way; None where there is none.
    """
    for output in query.selects:
        columns = _starred(output, query, types) if output.is_star else [output]
        if columns is None:
            return output
        if 0 < place <= len(columns):
            return columns[place - 1]
        place -= len(columns)
    return None


def _starred(star: exp.Expr, query: exp.Select, types: NetworkTypes) -> list[exp.Expr] | None:
    """The columns that a star stands for; None where they cannot be told."""
    bare = star.this if isinstance(star, exp.Column) else star
    joins = query.args.get("joins") or ()
    if any(bare.args.values()) or any(j.args.get("using") or j.method for j in joins):
        return None
    of = star.table if isinstance(star, exp.Column) else ""
    found: list[exp.Expr] = []
    known = ctes_in_reach(query, types.context)
    for source in relations_of(query):
        if of and fold(of) != fold(source.alias_or_name):
            continue
        names = names_of_source(source, types.context, known)
        if not names:
            return None
        found += [column(name, source.alias_or_name) for name in names]
    for made in found:
        made.parent = query  # Types are told by the relations around a column.
    return found


def order_outside(query: exp.Expr, types: NetworkTypes) -> None:
    """Order the rows of a query by addresses among its outputs, from around it, in place."""
    order = query.args.get("order")
    if order is None or not _is_ordered_outside(query, types):
        return
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return
    kinds = [_kind_of(term.this, first, types) for term in order.expressions]
    if not any(kinds):
        return
    if any(kind == "?" for kind in kinds):
        raise _untold(query)
    for output in list(first.selects):
        if not output.is_star and not output.alias_or_name:
            name = ident(postgres_name(output) or "?column?")
            output.replace(exp.alias_(output.copy(), name, copy=False))
    names = [fold(output.alias_or_name) for output in first.selects if not output.is_star]
    if len(set(names)) < len(names):
        raise _untold(query)
    around = exp.select(exp.Star())
    inner = query.copy()
    for part in _OUTSIDE:
        if inner.args.get(part) is not None:
            around.set(part, inner.args[part].pop())
    for term, kind in zip(around.args["order"].expressions, kinds, strict=True):
        called = _name_of(term.this, first, types)
        if called is not None:
            value: exp.Expr = column(called)
            term.set("this", call(KEY, value) if kind else value)
    query.replace(around.from_(exp.alias_(exp.Subquery(this=inner), _ROWS, table=True), copy=False))


def _name_of(by: exp.Expr, query: exp.Select, types: NetworkTypes) -> str | None:
    """The name of the output that a term is; None for what is left as it is."""
    if isinstance(by, exp.Literal) and by.is_int:
        placed = _placed(int(by.name), query, types)
        return None if placed is None else str(placed.alias_or_name)
    if isinstance(by, exp.Column):
        return str(by.name)
    named = (output.alias_or_name for output in query.selects if output.unalias() == by)
    return next(named, None)


def _kind_of(by: exp.Expr, query: exp.Select, types: NetworkTypes) -> str | None:
    """The type of a term that is an address; ``?`` for one that cannot be told; else None."""
    value = _output(by, query, types)
    if value is None and isinstance(by, exp.Column):
        named = (o for o in query.selects if fold(o.alias_or_name) == fold(by.name))
        value = next(named, None)
    if value is not None:
        found = types.network(value.unalias())
        return "?" if found is None and types.may_be_network(value.unalias()) else found
    found_by_name = types.of_output(query, by.name) if isinstance(by, exp.Column) else None
    if found_by_name is not None and found_by_name.kind is not None:
        return found_by_name.kind if found_by_name.kind in types.names else None
    return "?" if any(types.network(c) for c in by.find_all(exp.Column)) else None


def _untold(query: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        "these rows cannot be ordered by addresses here",
        advice="give each output a name of its own, and order by those names",
        position=position_of(query),
    )
