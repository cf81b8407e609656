"""The name a store gives a result column without an alias, where a rewrite would change it.

Only expressions whose name is known are named; for the rest the rewrite is not used. The forms are
DuckDB's: function names in lower case, operators in parentheses, ``count_star()``.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import Nodes
from rewriter.reading.spelling import result_spelling
from rewriter.users import OF_SESSION

_OPERATORS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_CHANGED = (exp.Table, *OF_SESSION)
_FUNCTIONS = {exp.Sum: "sum", exp.Count: "count", exp.Avg: "avg"}


def result_name(node: exp.Expr) -> str | None:
    """The name of an unaliased result column, or None when it is not known."""
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count_star()"
    return _result_name_of(node)


def name_changed(nodes: Nodes) -> None:
    """Name unaliased result columns whose text a rewrite would change: subqueries, users.

    Takes the nodes of a query.
    """
    if not any(nodes.all(kind) for kind in _CHANGED):
        return
    for select in nodes.all(exp.Select):
        named = list(select.expressions)
        for index, node in enumerate(named):
            if isinstance(node, exp.Alias | exp.Column | exp.Star) or node.find(*_CHANGED) is None:
                continue
            name = exp.to_identifier(result_spelling(node), quoted=True)
            named[index] = exp.alias_(node, name, copy=False)
        if named != select.expressions:
            select.set("expressions", named)


def _result_name_of(node: exp.Expr) -> str | None:
    match node:
        case exp.Column():
            parts = [p.name for p in node.parts]
            plain = all(p.isidentifier() for p in parts)
            return ".".join(parts) if plain else None
        case exp.Literal():
            return None if node.is_string else node.name
        case exp.Paren():
            return _result_name_of(node.this)
        case exp.Count() if isinstance(node.this, exp.Star):
            return "count_star()"
        case exp.Sum() | exp.Count() | exp.Avg():
            inner = _result_name_of(node.this)
            return None if inner is None else f"{_FUNCTIONS[type(node)]}({inner})"
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = _result_name_of(node.this), _result_name_of(node.expression)
            if left is None or right is None:
                return None
            return f"({left} {_OPERATORS[type(node)]} {right})"
        case _:
            return None
