"""Trees of SQL: their nodes in one walk, and copies of them.

A rewrite walks and copies trees many times over. sqlglot's own walk is a generator upon a
generator, and its copy takes apart what each name knows of its place in the text: both cost twice
as much. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeVar

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass

_Tree = TypeVar("_Tree", bound=exp.Expr)


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
