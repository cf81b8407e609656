"""Finds which column of which table a column of a query's rows is, without asking the store. Pure.

Clients that edit rows in place, or show what a column was declared as, are told so. What is not
known for sure has no origin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, View, fold
from journal.sql import dialects
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.output_names import expands, output_names

_NATURAL = "NATURAL"


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A column of a table or view, by its place among the columns, from 1."""

    relation: Table | View
    place: int


@dataclass(frozen=True, slots=True)
class OriginatedColumn:
    """A column of some rows: its name, "" where it has none of its own, and where it is from."""

    name: str
    origin: ColumnOrigin | None = None


Columns = Sequence[OriginatedColumn]
_Ctes = Mapping[str, Columns | None]


def column_origins(query: exp.Expr, context: RewriteContext) -> Columns | None:
    """The columns of a query with their origins; None if it is not known which columns it has."""
    return _outputs(query, context, {})


def _outputs(query: exp.Expr, context: RewriteContext, ctes: _Ctes) -> Columns | None:
    known = _with_ctes(query, context, ctes)
    if isinstance(query, exp.Subquery):
        return _outputs(query.this, context, known)
    if isinstance(query, exp.SetOperation):
        found = None if query.args.get("by_name") else _outputs(query.this, context, known)
        return None if found is None else [OriginatedColumn(column.name) for column in found]
    return _of_select(query, context, known) if isinstance(query, exp.Select) else None


def _with_ctes(query: exp.Expr, context: RewriteContext, ctes: _Ctes) -> dict[str, Columns | None]:
    known = dict(ctes)
    with_ = query.args.get("with_")
    if with_ is None:
        return known
    for cte in with_.expressions:
        if with_.args.get("recursive"):
            # It may read itself, before it is known.
            known[fold(cte.alias)] = None
        found = _outputs(cte.this, context, known)
        known[fold(cte.alias)] = _renamed(found, cte.args.get("alias"))
    return known


def _renamed(columns: Columns | None, alias: exp.Expr | None) -> Columns | None:
    """Columns under the names that an alias gives to the first of them."""
    if columns is None or not isinstance(alias, exp.TableAlias):
        return columns
    named = [
        OriginatedColumn(name.name, column.origin)
        for name, column in zip(alias.columns, columns, strict=False)
    ]
    return [*named, *columns[len(named) :]]


def _of_select(query: exp.Select, context: RewriteContext, ctes: _Ctes) -> Columns | None:
    sources = _Sources(query, context, ctes)
    found: list[OriginatedColumn] = []
    for output in query.expressions:
        node = output.unalias()
        if expands(output):
            return None
        if output.is_star:
            columns = sources.of_star(output)
            if columns is None:
                return None
            found += columns
        elif isinstance(node, exp.Column):
            origin = sources.origin_of(node)
            found.append(OriginatedColumn(output.alias_or_name, origin))
        else:
            found.append(OriginatedColumn(output.alias))
    return found


class _Sources:
    """What a SELECT reads, in its order, by the names under which columns may be asked for."""

    def __init__(self, query: exp.Select, context: RewriteContext, ctes: _Ctes) -> None:
        self._named: list[tuple[str, Columns | None]] = []
        self._merged: list[OriginatedColumn] | None = []
        """The columns that USING and NATURAL put first, once for both sides."""
        from_ = query.args.get("from_")
        joins: Sequence[exp.Join] = query.args.get("joins") or ()
        first = [] if from_ is None else [(from_.this, None)]
        for source, join in (*first, *((join.this, join) for join in joins)):
            self._add(source, join, context, ctes)
            for inner in source.args.get("joins") or ():
                self._add(inner.this, inner, context, ctes)
        if query.args.get("laterals"):
            self._named.append(("", None))

    def _add(
        self, source: exp.Expr, join: exp.Join | None, context: RewriteContext, ctes: _Ctes
    ) -> None:
        found = _of_source(source, context, ctes)
        if join is not None:
            self._merge(join, found)
        self._named.append((fold(source.alias_or_name), found))

    def _merge(self, join: exp.Join, right: Columns | None) -> None:
        using = [fold(name.name) for name in join.args.get("using") or ()]
        before = [columns for _, columns in self._named]
        if join.method == _NATURAL and right is not None and None not in before:
            there = {fold(c.name) for columns in before for c in columns or ()}
            using = [fold(c.name) for c in right if fold(c.name) in there]
        elif join.method == _NATURAL:
            self._merged = None
        if not using or self._merged is None:
            return
        side = join.side.upper()
        merged = []
        for name in using:
            left = self._first(name)
            theirs = next((c for c in right or () if fold(c.name) == name), None)
            chosen = theirs if side == "RIGHT" else left
            is_either = side == "FULL" or chosen is None
            merged.append(OriginatedColumn(name) if is_either or chosen is None else chosen)
        kept = [c for c in self._merged if fold(c.name) not in using]
        self._merged = [*merged, *kept]

    def _first(self, name: str) -> OriginatedColumn | None:
        columns = chain(self._merged or (), *(columns or () for _, columns in self._named))
        return next((c for c in columns if fold(c.name) == name), None)

    def origin_of(self, node: exp.Column) -> ColumnOrigin | None:
        """Where a column that is named is from."""
        name, table = fold(node.name), fold(node.table)
        if not table:
            found = None if self._merged is None else self._first(name)
        else:
            columns = next((columns for alias, columns in self._named if alias == table), None)
            found = next((c for c in columns or () if fold(c.name) == name), None)
        return None if found is None else found.origin

    def of_star(self, node: exp.Expr) -> Columns | None:
        """The columns of ``*`` and ``t.*``; None if they are not known."""
        star = node.this if isinstance(node, exp.Column) else node
        if not isinstance(star, exp.Star) or any(star.args.values()):
            return None
        if isinstance(node, exp.Column) and node.table:
            table = fold(node.table)
            return next((columns for alias, columns in self._named if alias == table), None)
        if self._merged is None or any(columns is None for _, columns in self._named):
            return None
        first = {fold(column.name) for column in self._merged}
        others = chain(*(columns or () for _, columns in self._named))
        return [*self._merged, *(c for c in others if fold(c.name) not in first)]


def _of_source(source: exp.Expr, context: RewriteContext, ctes: _Ctes) -> Columns | None:
    alias = source.args.get("alias")
    if isinstance(source, exp.Subquery):
        return _renamed(_outputs(source, context, ctes), alias)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return None
    if source.args.get("pivots"):
        return None
    if not source.db and fold(source.name) in ctes:
        return _renamed(ctes[fold(source.name)], alias)
    relation = context.catalog.get(table_name(source, context))
    names = None if relation is None else _names_of(relation, context)
    if relation is None or names is None:
        return None
    found = [OriginatedColumn(name, ColumnOrigin(relation, n)) for n, name in enumerate(names, 1)]
    return _renamed(found, alias)


def _names_of(relation: Table | View, context: RewriteContext) -> Sequence[str] | None:
    if isinstance(relation, Table):
        return [column.name for column in relation.columns]
    return relation.columns or output_names(dialects.stored(relation.query), context)
