"""Views over a relation that gets another name, or whose columns do: they read it as before. Pure.

So it is in PostgreSQL. In dialects that keep a view by its text, views stay as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sqlglot import exp

from journal.model.plan import Change, PutRelation, Step
from journal.model.schema import Relation, Table, TableName, fold
from journal.sql import dialects
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.dependent_views import sources, with_texts
from rewriter.dialect_semantics import semantics_of
from rewriter.reading.output_names import output_names

_AROUND = ("joins", "laterals", "pivots")
"""What belongs to a relation of FROM, and goes with whatever takes its place."""


def views_of_renamed(
    old: Relation, name: TableName, columns: Mapping[str, str], context: RewriteContext
) -> list[Step]:
    """What lets all views read a relation that is called ``name`` from now on.

    ``columns`` are the new names of its columns by their folded old ones.
    """
    changes = name.key != old.name.key or bool(columns)
    if not changes or not semantics_of(context.dialect).views_hold:
        return []
    steps: list[Step] = []
    for view in context.catalog.relations.values():
        if view.name.key == old.name.key or old.name.key not in sources(view, context.catalog):
            continue
        renamed = partial(_renamed, view, old, name, columns, context)
        steps.append(Change(PutRelation(with_texts(view, renamed))))
    return steps


def _renamed(
    view: Relation,
    old: Relation,
    name: TableName,
    columns: Mapping[str, str],
    context: RewriteContext,
    text: str,
) -> str:
    """A query of a view with the names of now."""
    tree = dialects.stored(text)
    named = [node for node in tree.find_all(exp.Table) if _means(node, view, old, context)]
    if columns and not _rename_columns(tree, named, old, columns):
        for node in named:
            _put_old_names(node, _names_of(old, context), columns)
    for node in named if name.key != old.name.key else ():
        _rename(node, old.name, name, tree)
    return canonical_text(tree)


def _names_of(old: Relation, context: RewriteContext) -> Sequence[str]:
    if isinstance(old, Table):
        return [column.name for column in old.columns]
    return old.columns or output_names(dialects.stored(old.query), context) or ()


def _means(node: exp.Table, view: Relation, old: Relation, context: RewriteContext) -> bool:
    """True where a name in a view's query is that of the relation."""
    if not isinstance(node.this, exp.Identifier) or is_cte(node):
        return False
    places = [node.db] if node.db else [view.name.schema, context.catalog.home]
    found = (TableName(place, node.name).key for place in places)
    known = next((key for key in found if key in context.catalog.relations), None)
    return known == old.name.key


def _rename(node: exp.Table, old: TableName, new: TableName, tree: exp.Expr) -> None:
    """Name the relation anew; what is said of its columns still finds it under its old name."""
    if not node.alias and fold(node.name) != fold(new.name):
        node.set("alias", exp.TableAlias(this=node.this.copy()))
    for used in tree.find_all(exp.Column):
        if fold(used.db) == fold(old.schema) and fold(used.table) == fold(old.name):
            used.set("db", None)
            used.set("catalog", None)
    node.set("this", ident(new.name))
    node.set("db", ident(new.schema))


def _put_old_names(node: exp.Table, names: Sequence[str], columns: Mapping[str, str]) -> None:
    """Put a subquery in a relation's place in which its columns have their old names."""
    alias = node.args.get("alias") or exp.TableAlias(this=node.this.copy())
    node.set("alias", None)
    outside = {name: node.args.pop(name) for name in _AROUND if node.args.get(name)}
    holder = exp.Paren(this=exp.null())
    node.replace(holder)
    outputs = [
        exp.alias_(exp.column(ident(columns.get(fold(name), name))), ident(name)) for name in names
    ]
    inner = exp.select(*outputs).from_(node, copy=False)
    holder.replace(exp.Subquery(this=inner, alias=alias, **outside))


def _rename_columns(
    tree: exp.Expr, named: Sequence[exp.Table], old: Relation, columns: Mapping[str, str]
) -> bool:
    """Name columns anew in a query of one relation; False for one where they may mean others."""
    nested = sum(1 for _ in tree.find_all(exp.Query, exp.Table, exp.UDTF, exp.Lambda)) - 2
    if not isinstance(tree, exp.Select) or len(named) != 1 or nested or tree.args.get("windows"):
        return False
    alias = fold(named[0].alias_or_name)
    of_others = any(fold(used.table) not in {"", alias} for used in tree.find_all(exp.Column))
    words = {*columns, *map(fold, columns.values())}
    told = [isinstance(each, exp.Column | exp.Alias) and not each.is_star for each in tree.selects]
    if of_others or not all(told):
        return False
    if any(isinstance(each, exp.Alias) and fold(each.alias) in words for each in tree.selects):
        return False
    for each in list(tree.selects):
        if isinstance(each, exp.Column) and fold(each.name) in columns:
            each.replace(exp.alias_(each.copy(), each.this.copy()))
    for used in tree.find_all(exp.Column):
        if fold(used.name) in columns:
            used.set("this", ident(columns[fold(used.name)]))
    return True
