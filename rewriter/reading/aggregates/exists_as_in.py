"""EXISTS by one equation becomes IN, where a table has changed. Pure.

    WHERE EXISTS (SELECT * FROM l WHERE l.k = o.k AND l.a < l.b)
    WHERE o.k IN (SELECT l.k FROM l WHERE l.a < l.b)

Over the relation of a changed table DuckDB compares what is correlated by IS NOT DISTINCT FROM, and
reads all rows of ``l``; what is named by IN it compares by ``=``, and reads those rows alone whose
key some row of ``o`` has. As a condition of WHERE neither keeps a row for a key that is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Column, Table, fold
from journal.model.trees import Nodes
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import Reader
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.aggregates.star_joins import column_source, named_sources
from rewriter.reading.scopes import is_named

_PARTS = {"expressions", "from_", "where", "kind"}
_SELECTED = (exp.Star, exp.Literal, exp.Column)


def name_what_exists(nodes: Nodes, context: RewriteContext) -> bool:
    """Change what can be changed, in place; True if that was anything."""
    changed = False
    for exists in nodes.all(exp.Exists):
        around = _select_around(exists)
        inner = exists.this.unnest()
        if around is None or not isinstance(inner, exp.Select):
            continue
        membership = _membership(inner, around, context)
        if membership is not None:
            exists.replace(membership)
            changed = True
    return changed


def _select_around(exists: exp.Exists) -> exp.Select | None:
    """The SELECT all of whose rows must meet it; None where it stands in another place."""
    node = exists.parent
    while isinstance(node, exp.And | exp.Paren):
        node = node.parent
    is_condition = isinstance(node, exp.Where) and isinstance(node.parent, exp.Select)
    return node.parent if is_condition else None  # type: ignore[union-attr, return-value]


def _membership(inner: exp.Select, around: exp.Select, context: RewriteContext) -> exp.In | None:
    if any(value for part, value in inner.args.items() if part not in _PARTS):
        return None
    if inner.args.get("from_") is None or inner.args.get("where") is None:
        return None
    if not all(isinstance(s, _SELECTED) for s in inner.expressions):
        return None
    table = changed_table(inner.args["from_"].this, context)
    condition = inner.args["where"].this
    if table is None or condition.find(exp.Query) is not None:
        return None
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    outside = [p for p in parts if not _is_of(p, inner, context)]
    if len(outside) != 1 or len(parts) == len(outside) == 0:
        return None
    pair = _equal_columns(outside[0], inner, around, context)
    if pair is None:
        return None
    own, other = pair
    rest = [p.copy() for p in parts if p is not outside[0]]
    rows = exp.select(own.copy()).from_(inner.args["from_"].this.copy())
    if rest:
        rows = rows.where(exp.and_(*rest))
    return exp.In(this=other.copy(), query=exp.Subquery(this=rows))


def changed_table(node: exp.Expr, context: RewriteContext) -> Table | None:
    """The table that a source names, if it holds changes that are not compacted."""
    if not isinstance(node, exp.Table) or not is_named(node) or is_cte(node):
        return None
    if any(value for part, value in node.args.items() if part not in {"this", "db", "alias"}):
        return None
    found = context.catalog.get(table_name(node, context))
    if not isinstance(found, Table):
        return None
    return None if Reader(found, context.scan_info(found.id).tiers).is_plain() else found


def _is_of(part: exp.Expr, inner: exp.Select, context: RewriteContext) -> bool:
    return all(_column_of(c, inner, context) is not None for c in part.find_all(exp.Column))


def _column_of(column: exp.Column, select: exp.Select, context: RewriteContext) -> Column | None:
    """The column of a table in the FROM clause that is meant for certain."""
    sources = dict(named_sources(select))
    node = sources.get(column_source(column, sources.items(), context))
    if not isinstance(node, exp.Table) or not is_named(node) or is_cte(node):
        return None
    alias = node.args.get("alias")
    name = table_name(node, context)
    found = context.catalog.get(name)
    if column.args.get("db") is not None and fold(column.db) != name.key[0]:
        return None
    if not isinstance(found, Table) or (alias is not None and alias.columns):
        return None
    return found.find(column.name)


def _equal_columns(
    part: exp.Expr, inner: exp.Select, around: exp.Select, context: RewriteContext
) -> tuple[exp.Column, exp.Column] | None:
    """The column within and the one around it that must be equal, both of one type."""
    if not isinstance(part, exp.EQ):
        return None
    for own, other in ((part.this, part.expression), (part.expression, part.this)):
        if not isinstance(own, exp.Column) or not isinstance(other, exp.Column):
            return None
        within = _column_of(own, inner, context)
        if within is None or _column_of(other, inner, context) is not None:
            continue
        outside = _column_of(other, around, context)
        if outside is None or fold(within.type) != fold(outside.type):
            return None
        if within.collation is None and outside.collation is None:
            return own, other
    return None
