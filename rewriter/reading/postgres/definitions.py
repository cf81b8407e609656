"""Definitions of PostgreSQL stores, whose texts keep what PostgreSQL alone says. Pure.

``journal.sql.native_words`` has how. A CREATE TABLE AS keeps no text of its query.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import copy_tree
from journal.sql.native_words import mark_kept, mark_lost

_SAID_BY_BOTH = (
    *(exp.Column, exp.Literal, exp.Star, exp.Boolean, exp.Null, exp.Placeholder, exp.Parameter),
    *(exp.Query, exp.Subquery, exp.Exists, exp.Paren, exp.Connector, exp.Not, exp.Case, exp.If),
    *(exp.AggFunc, exp.Window, exp.Filter, exp.IgnoreNulls, exp.Ordered),
    *(exp.Distinct, exp.Lambda, exp.Tuple, exp.Dot, exp.Alias, exp.Slice, exp.Kwarg),
    *(exp.PropertyEQ, exp.JSONKeyValue, exp.Interval, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT),
    *(exp.LTE, exp.Is, exp.In, exp.Between),
)
"""Nodes that both say alike, or that are a part of others."""
DEFINING = (exp.Create, exp.Alter, exp.Insert)
"""Statements with parts that are kept as texts, or compared with these."""
_SOURCES = (exp.Table, exp.Lateral, exp.From)


def marked_definition(tree: exp.Expr, *, is_whole: bool) -> exp.Expr:
    """A copy with marks on what the texts of a definition would lose; the same if it has none.

    ``is_whole``: the tree is a part of a definition, whatever it is.
    """
    if not is_whole and not _places(tree):
        return tree
    made = copy_tree(tree)
    for place in [made] if is_whole else _places(made):
        for node in place.find_all(exp.Condition, exp.WithinGroup):
            is_source = isinstance(node.parent, _SOURCES) and node.arg_key == "this"
            if isinstance(node, exp.WithinGroup) or _trims(node):
                mark_kept(node)
            elif not isinstance(node, _SAID_BY_BOTH) and not is_source:
                mark_lost(node)
    return made


def _trims(node: exp.Expr) -> bool:
    """True for a trim of given letters, which are a text in DuckDB and may be bytes here."""
    return isinstance(node, exp.Trim) and node.args.get("expression") is not None


def _places(tree: exp.Expr) -> list[exp.Expr]:
    """The parts of a statement that are kept as texts, or compared with these."""
    if isinstance(tree, exp.Insert):
        conflict = tree.args.get("conflict")
        return [] if conflict is None else [conflict]
    if isinstance(tree, exp.Alter):
        return [tree]
    if not isinstance(tree, exp.Create):
        return []
    return [tree.this] if tree.kind == "TABLE" else [tree]
