"""Trees of SQL: their nodes in one walk, copies and changes of them, and where a node stands.

A rewrite walks and copies trees many times over. sqlglot's own walk is a generator upon a
generator, and its copy takes apart what each name knows of its place in the text: both cost twice
as much. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass

_Tree = TypeVar("_Tree", bound=exp.Expr)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a tree by type; among those of one type, outer ones stand before inner ones."""

    by_type: Mapping[type[exp.Expr], list[exp.Expr]]

    @staticmethod
    def of(tree: exp.Expr) -> Nodes:
        """The nodes that a tree has now."""
        found: dict[type[exp.Expr], list[exp.Expr]] = defaultdict(list)
        nodes = [tree]
        for node in nodes:
            found[type(node)].append(node)
            if node.is_primitive:
                continue
            for value in node.args.values():
                if isinstance(value, exp.Expr):
                    nodes.append(value)
                elif type(value) is list:
                    nodes += [part for part in value if isinstance(part, exp.Expr)]
        return Nodes(found)

    def all(self, kind: type[_Tree]) -> list[_Tree]:
        """The nodes of a type and of the types that derive from it."""
        found: list[Any] = []
        for known, nodes in self.by_type.items():
            if issubclass(known, kind):
                found += nodes
        return found


def copy_tree(tree: _Tree) -> _Tree:
    """A tree of its own, as ``tree.copy()`` makes it."""
    root = type(tree)()
    left: list[tuple[exp.Expr, exp.Expr]] = [(tree, root)]
    while left:
        node, made = left.pop()
        if node.comments:
            made.comments = list(node.comments)
        if node._meta:
            made._meta = dict(node._meta)
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                part = type(value)()
                left.append((value, part))
                made.set(name, part)
            elif type(value) is list:
                parts = [type(p)() if isinstance(p, exp.Expr) else p for p in value]
                left += [(p, c) for p, c in zip(value, parts, strict=True) if p is not c]
                made.set(name, parts)
            else:
                made.args[name] = value
    return root


def with_changed_trees(value: _Value, change: Callable[[exp.Expr], exp.Expr]) -> _Value:
    """A statement whose trees are what ``change`` gives for them; the same if these are the same.

    Statements are frozen values: trees, tuples and data classes of them. ``change`` leaves the tree
    that it is given as it is.
    """
    if isinstance(value, exp.Expr):
        return change(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        parts = tuple(with_changed_trees(part, change) for part in value)
        changed = any(a is not b for a, b in zip(parts, value, strict=True))
        return parts if changed else value  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {f.name: getattr(value, f.name) for f in fields(value)}
        changes = {name: with_changed_trees(part, change) for name, part in found.items()}
        changes = {name: part for name, part in changes.items() if part is not found[name]}
        return replace(value, **changes) if changes else value
    return value


def is_nested(node: exp.Expr, root: exp.Expr) -> bool:
    """True when a query stands between a node and ``root``, with a scope of its own."""
    parent = node.parent
    while parent is not None and parent is not root:
        if isinstance(parent, exp.Query):
            return True
        parent = parent.parent
    return False
