"""The columns that can be named at a place of a statement, those of the nearest relations first.

For advice only: relations whose columns cannot be told without the store give none. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.schema import View, fold
from journal.sql import dialects
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.output_names import Scope, cte_names, output_names, source_names

_QUERYING = (exp.Select, exp.Update, exp.Delete, exp.Merge)
_DEFINING = (exp.Create, exp.Alter)


def columns_in_reach(node: exp.Expr, context: RewriteContext) -> list[str]:
    """Names of columns, each once; behind a qualifier only those of the relation it names."""
    column = node.find_ancestor(exp.Column) or node
    wanted = fold(column.table) if isinstance(column, exp.Column) else ""
    found: dict[str, None] = {}
    for scope in enclosing_statements(column):
        known = ctes_in_reach(scope, context)
        for source in relations_of(scope):
            # An INSERT has one relation besides its source, and several names for it.
            if wanted in {"", fold(source.alias_or_name)} or isinstance(scope, exp.Insert):
                found |= dict.fromkeys(names_of_source(source, context, known))
    return [name for name in found if name]


def unknown_output(query: exp.Expr, context: RewriteContext) -> exp.Column | None:
    """The first column in a query's select list that nothing in reach is known to have."""
    aliases = {fold(e.alias) for e in query.selects} if isinstance(query, exp.Query) else set()
    for output in query.selects if isinstance(query, exp.Query) else ():
        for column in output.find_all(exp.Column):
            if not isinstance(column.this, exp.Star) and fold(column.name) not in aliases:
                known = columns_in_reach(column, context)
                if known and fold(column.name) not in map(fold, known):
                    return column
    return None


def names_of_source(
    source: exp.Expr, context: RewriteContext, known: Scope | None = None
) -> list[str]:
    """The columns of a relation; none where only the store could tell them."""
    names = source_names(source, context, known or {})
    if names is None and isinstance(source, exp.Table):
        view = context.catalog.get(table_name(source, context))
        if isinstance(view, View):
            names = output_names(dialects.stored(view.query), context)
    return names or []


def enclosing_statements(node: exp.Expr) -> Iterator[exp.Expr]:
    """The queries and writing statements whose relations are seen from a node, inner ones first."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.Insert):
            sees = isinstance(child, exp.OnConflict | exp.Returning)
        else:
            # A CTE does not see the relations of the query that it stands before.
            sees = isinstance(parent, _QUERYING) and not isinstance(child, exp.With)
            sees = sees or (isinstance(parent, _DEFINING) and not isinstance(child, exp.Query))
        if sees:
            yield parent
        child, parent = parent, parent.parent


def relations_of(scope: exp.Expr) -> list[exp.Expr]:
    """The relations that a query or writing statement names, or what a CREATE TABLE defines."""
    if isinstance(scope, exp.Create):
        made = scope.this.args.get("table") if isinstance(scope.this, exp.Index) else scope.this
        return [made] if isinstance(made, exp.Table | exp.Schema) else []
    target = scope.this.this if isinstance(scope.this, exp.Schema) else scope.this
    found: list[exp.Expr] = [target] if isinstance(target, exp.Table) else []
    if isinstance(scope.args.get("from_"), exp.From):
        found.append(scope.args["from_"].this)
    using = scope.args.get("using") or []
    found += using if isinstance(using, list) else [using]
    found += [join.this for join in scope.args.get("joins") or []]
    found += [j.this for source in found for j in source.args.get("joins") or []]
    return found


def ctes_in_reach(scope: exp.Expr, context: RewriteContext) -> Scope:
    """The columns of the CTEs that a scope sees, by name."""
    holders: list[exp.Expr] = []
    holder: exp.Expr | None = scope
    while holder is not None:
        if isinstance(holder.args.get("with_"), exp.With):
            holders.append(holder)
        holder = holder.parent
    known: dict[str, list[str] | None] = {}
    for outer in reversed(holders):
        known |= cte_names(outer, context, known)
    return known
