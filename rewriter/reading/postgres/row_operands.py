"""Whole rows as operands of comparisons and of IS NULL, and as arguments, as in PostgreSQL. Pure.

t.* = s.*, t = s             each pair of columns is equal, or both are NULL
t.* IS DISTINCT FROM s.*     some pair is not
t.* IS NOT NULL              no column is NULL
row_to_json(t.*)             row_to_json(t)

Relations that stand for tables may have columns of our own, and JSON of another type.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.visible_columns import (
    ctes_in_reach,
    enclosing_statements,
    names_of_source,
    relations_of,
)

_EQUAL = (exp.EQ, exp.NullSafeEQ)
_UNEQUAL = (exp.NEQ, exp.NullSafeNEQ)
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_KINDS = (*_EQUAL, *_UNEQUAL, *_ORDERED, exp.Is)
_Row = tuple[str, Sequence[str]]
"""The name of a relation and the names of its columns."""


def with_row_operands(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The tree as the store compares rows; the same where no operand is a whole row."""
    compares = any(row_named(node.this, context) is not None for node in tree.find_all(*_KINDS))
    if not compares and not any(_is_argument(star, context) for star in tree.find_all(exp.Star)):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    for star in [s for s in holder.find_all(exp.Star) if _is_argument(s, context)]:
        named = star.parent
        row = row_named(named, context) if named is not None else None
        if named is not None and row is not None:
            named.replace(exp.column(row[0]))
    for node in list(holder.find_all(*_KINDS)):
        left = row_named(node.this, context)
        if left is None or is_assignment(node):
            continue
        if isinstance(node, exp.Is):
            if isinstance(node.expression, exp.Null):
                values = [column(name, left[0]) for name in left[1]]
                _put(node.this, exp.Tuple(expressions=values))
            continue
        right = row_named(node.expression, context)
        if right is None:
            continue
        if len(left[1]) == len(right[1]) and not isinstance(node, _ORDERED):
            node.replace(exp.Paren(this=_compared(node, left, right)))
        else:
            _put(node.this, exp.column(left[0]))
            _put(node.expression, exp.column(right[0]))
    return holder.this  # type: ignore[no-any-return]


def _compared(node: exp.Expr, left: _Row, right: _Row) -> exp.Expr:
    is_equal = isinstance(node, _EQUAL)
    kind = exp.NullSafeEQ if is_equal else exp.NullSafeNEQ
    pairs = [
        kind(this=column(a, left[0]), expression=column(b, right[0]))
        for a, b in zip(left[1], right[1], strict=True)
    ]
    return (exp.and_ if is_equal else exp.or_)(*pairs, copy=False)


def _put(operand: exp.Expr, made: exp.Expr) -> None:
    _bare(operand).replace(made)


def _bare(operand: exp.Expr) -> exp.Expr:
    while isinstance(operand, exp.Paren):
        operand = operand.this
    return operand


def _is_argument(star: exp.Star, context: RewriteContext) -> bool:
    """True for ``f(t.*)``, and for ``t.*::text`` where the store would show a row otherwise."""
    around = star.parent.parent if isinstance(star.parent, exp.Column) else None
    if not _may_be_row(star.parent):
        return False
    while isinstance(around, exp.Paren | exp.Ordered | exp.Order | exp.Distinct):
        around = around.parent
    if isinstance(around, exp.Cast):
        return not context.capabilities.postgres_functions
    if isinstance(around, exp.Anonymous) and around.name.upper() == "ROW":
        return False
    return isinstance(around, exp.Func) and not isinstance(around, exp.Count)


def _may_be_row(operand: exp.Expr | None) -> bool:
    """True for ``t.*``, and for a name without one before it."""
    bare = _bare(operand) if isinstance(operand, exp.Expr) else None
    if not isinstance(bare, exp.Column):
        return False
    if isinstance(bare.this, exp.Star):
        return bool(bare.table) and not any(bare.this.args.values())
    return not bare.table and isinstance(bare.this, exp.Identifier)


def row_named(operand: exp.Expr, context: RewriteContext) -> _Row | None:
    """The relation that an operand names, where its columns are known; else None."""
    node = _bare(operand)
    if not _may_be_row(node):
        return None
    is_star = isinstance(node.this, exp.Star)
    wanted = fold(node.args["table"].name if is_star else node.this.name)
    for scope in enclosing_statements(node):
        reach = ctes_in_reach(scope, context)
        found: _Row | None = None
        for name, source in _named_sources(scope):
            columns = names_of_source(source, context, reach)
            if not is_star and (not columns or wanted in map(fold, columns)):
                return None
            if fold(name) == wanted:
                found = name, columns
        if found is not None:
            return found if found[1] and all(found[1]) else None
    return None


def _named_sources(scope: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """The relations of a statement by the names that they have in it."""
    sources = relations_of(scope)
    if not isinstance(scope, exp.Insert) or not sources:
        return [(source.alias_or_name, source) for source in sources]
    alias = scope.args.get("alias")
    name = alias.name if isinstance(alias, exp.Expr) else sources[0].alias_or_name
    return [(name, sources[0]), ("excluded", sources[0])]
