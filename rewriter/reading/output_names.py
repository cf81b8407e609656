"""Finds the names of a query's columns without asking the store. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.schema import Table, View, fold
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name

Scope = Mapping[str, list[str] | None]


def output_names(
    query: exp.Expr, context: RewriteContext, scope: Scope | None = None
) -> list[str] | None:
    """Names of a query's columns, "" for a column without one; None if they are unknown."""
    known = cte_names(query, context, scope or {})
    if isinstance(query, exp.Subquery):
        return output_names(query.this, context, known)
    if isinstance(query, exp.SetOperation):
        by_name = query.args.get("by_name")
        return None if by_name else output_names(query.this, context, known)
    if isinstance(query, exp.Values):
        first = query.expressions[0]
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        return [f"col{i}" for i in range(width)]
    if not isinstance(query, exp.Select):
        return None
    return _of_select(query, context, known)


def cte_names(
    query: exp.Expr, context: RewriteContext, scope: Scope
) -> dict[str, list[str] | None]:
    """The columns of the CTEs before a query, and of those in ``scope``, by name."""
    known = dict(scope)
    with_ = query.args.get("with_")
    if with_ is not None:
        for cte in with_.expressions:
            known[fold(cte.alias)] = _of_cte(cte, context, known, with_.recursive)
    return known


def _of_cte(
    cte: exp.Expr, context: RewriteContext, scope: Scope, recursive: bool
) -> list[str] | None:
    alias = cte.args.get("alias")
    renamed = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if recursive and not renamed and isinstance(cte.this, exp.SetOperation):
        return output_names(cte.this.this, context, scope)
    names = output_names(cte.this, context, scope)
    if names is None:
        return None
    return [*renamed, *names[len(renamed) :]]


def _of_select(query: exp.Select, context: RewriteContext, scope: Scope) -> list[str] | None:
    if query.args.get("kind") or query.args.get("operation_modifiers"):
        return None
    found: list[str] = []
    for projection in query.expressions:
        if not projection.is_star:
            if expands(projection):
                return None
            if isinstance(projection, exp.Column | exp.Alias | exp.Literal | exp.Cast):
                found.append(projection.alias_or_name)
            else:
                found.append("")
            continue
        names = _of_star(projection, query, context, scope)
        if names is None:
            return None
        found += names
    return found


def expands(output: exp.Expr) -> bool:
    """True for an output that is no star and stands for any number of columns.

    ``COLUMNS('a.*') + 1`` and ``* LIKE 'a%'`` do, ``count(*)`` and ``UNPACK(COLUMNS(*))`` do not.
    """
    for node in output.walk(prune=lambda node: isinstance(node, exp.Query)):
        of = node.parent
        if isinstance(node, exp.Columns):
            unpacked = isinstance(of, exp.Anonymous) and of.name.upper() == "UNPACK"
            return not (unpacked or node.args.get("unpack"))
        of = of.parent if isinstance(of, exp.Column) else of
        if isinstance(node, exp.Star) and isinstance(of, _CHOOSING):
            return True
    return False


_CHOOSING = (exp.Like, exp.ILike, exp.Glob, exp.SimilarTo, exp.RegexpLike, exp.RegexpFullMatch)
"""Operators that choose columns of a star by their names."""


def _of_star(
    projection: exp.Expr, query: exp.Select, context: RewriteContext, scope: Scope
) -> list[str] | None:
    star = projection.this if isinstance(projection, exp.Column) else projection
    if not isinstance(star, exp.Star) or any(star.args.values()):
        return None
    from_ = query.args.get("from_")
    joins = query.args.get("joins") or []
    if from_ is None or query.args.get("laterals"):
        return None
    wanted = fold(projection.table) if isinstance(projection, exp.Column) else ""
    if not wanted and any(j.args.get("using") or j.method or j.side or j.kind for j in joins):
        return None
    found: list[str] = []
    for source in [from_.this, *[j.this for j in joins]]:
        if source.args.get("joins") or source.args.get("pivots"):
            return None
        if wanted and fold(source.alias_or_name) != wanted:
            continue
        names = source_names(source, context, scope)
        if names is None:
            return None
        found += names
    return found or None


def source_names(source: exp.Expr, context: RewriteContext, scope: Scope) -> list[str] | None:
    """Names of the columns of a relation in FROM; None if they are unknown."""
    alias = source.args.get("alias")
    renamed = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    names = _of_relation(source, context, scope)
    if names is None:
        return None
    return [*renamed, *names[len(renamed) :]]


def _of_relation(source: exp.Expr, context: RewriteContext, scope: Scope) -> list[str] | None:
    if isinstance(source, exp.Subquery | exp.Values):
        return output_names(source, context, scope)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return None
    if not source.db and fold(source.name) in scope:
        return scope[fold(source.name)]
    if any(source.args.get(a) for a in ("version", "when", "changes", "sample")):
        return None
    found = context.catalog.get(table_name(source, context))
    if isinstance(found, Table) and context.as_of is None:
        return [c.name for c in found.columns]
    if isinstance(found, View) and found.columns:
        return list(found.columns)
    return None
