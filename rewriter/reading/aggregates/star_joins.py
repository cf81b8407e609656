"""Which tables of a query are joined with several others: the centers of star joins. Pure.

An anti-join that leaves ended rows out takes part in the search for an order of joins, and tells
nothing of how many different values a column has. Two small tables that meet only in such a table
are then crossed with each other first, however large that becomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.cte_scopes import is_cte
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.scopes import is_named

_SOURCES_MIN = 3


def star_centers(nodes: Nodes, context: RewriteContext) -> frozenset[int]:
    """The ids of references to tables and views that equations join with two other sources.

    A derived table that is a center makes all references in it centers. What cannot be told which
    source a column is of counts as a source of its own.
    """
    found: set[int] = set()
    for select in nodes.all(exp.Select):
        sources = dict(named_sources(select))
        if len(sources) < _SOURCES_MIN:
            continue
        joined: dict[str, set[str]] = {}
        for equation in _equations(select):
            sides = [_source_names(side, sources, context) for side in equation.unnest_operands()]
            for one, other in (sides, sides[::-1]):
                for name in one:
                    joined.setdefault(name, set()).update(other - {name})
        for name, others in joined.items():
            if len(others) > 1 and name in sources:
                found.update(id(table) for table in sources[name].find_all(exp.Table))
    return frozenset(found)


def named_sources(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """The sources of a FROM clause, by folded alias or name."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    for node in [from_, *joins] if from_ is not None else []:
        yield fold(node.this.alias_or_name), node.this


def _equations(select: exp.Select) -> Iterator[exp.EQ]:
    """The equations all of which must hold for a row; USING counts as one with the first source."""
    conditions: list[exp.Expr] = []
    if select.args.get("where") is not None:
        conditions.append(select.args["where"].this)
    first = select.args["from_"].this.alias_or_name
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            conditions.append(join.args["on"])
        for name in join.args.get("using") or []:
            sides = [exp.column(name.name, of) for of in (first, join.this.alias_or_name)]
            yield exp.EQ(this=sides[0], expression=sides[1])
    for condition in conditions:
        for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            if isinstance(part, exp.EQ):
                yield part


def _source_names(
    side: exp.Expr, sources: dict[str, exp.Expr], context: RewriteContext
) -> set[str]:
    """The names of the sources whose columns an expression is made of."""
    if side.find(exp.Query) is not None:
        return set()
    return {column_source(c, sources.items(), context) for c in side.find_all(exp.Column)}


def column_source(
    column: exp.Column, sources: Iterable[tuple[str, exp.Expr]], context: RewriteContext
) -> str:
    """The name of the source that a column is of; the column's own where that cannot be told."""
    if column.table:
        return fold(column.table)
    for name, node in sources:
        if isinstance(node, exp.Table) and is_named(node) and not is_cte(node):
            found = context.catalog.get(table_name(node, context))
            if isinstance(found, Table) and found.find(column.name) is not None:
                return name
    return fold(column.name)
