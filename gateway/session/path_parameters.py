"""Paths of JSON that clients give as parameters, where plans are of constant ones. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from sqlglot import exp

from journal.model.capabilities import Capabilities
from journal.model.trees import with_changed_trees
from rewriter.dialect_semantics import DIALECTS
from rewriter.reading.postgres.json.path.calls import path_of
from rewriter.syntax.parsing import Parsed

_WORDS = ("jsonb_path_", "@?", "@@")
_ANY = "$"
"""Stands for a path that is not known yet: the type of a result depends on none."""
_NO_PATH = object()


def with_paths(
    parsed: Parsed, bound: Mapping[str, Any], capabilities: Capabilities, dialect: str
) -> Parsed:
    """The statement with the values of parameters that are paths in their places; else the same."""
    if not capabilities.normalizes_json or DIALECTS.get(dialect) != "postgres":
        return parsed
    if not bound or not any(word in parsed.text.lower() for word in _WORDS):
        return parsed
    paths: list[str | None] = []
    statement = with_changed_trees(
        parsed.statement, lambda tree: _tree_with_paths(tree, bound, paths)
    )
    if not paths:
        return parsed
    # The text names the plan in the cache; it goes on record, without values of parameters.
    digest = sha256(repr(paths).encode()).hexdigest()
    return replace(parsed, statement=statement, text=f"{parsed.text} -- paths {digest}")


def with_any_path(
    parsed: Parsed, names: Mapping[str, Any], capabilities: Capabilities, dialect: str
) -> Parsed:
    """The statement with some path for each parameter that is one, to learn what it gives."""
    return with_paths(parsed, dict.fromkeys(names, _ANY), capabilities, dialect)


def _tree_with_paths(tree: exp.Expr, bound: Mapping[str, Any], paths: list[str | None]) -> exp.Expr:
    """The tree with constants; adds them to ``paths``."""
    if not any(_placeholder(node) is not None for node in tree.walk()):
        return tree
    made = tree.copy()
    for node in list(made.walk()):
        placeholder = _placeholder(node)
        value = _NO_PATH if placeholder is None else bound.get(placeholder.name, _NO_PATH)
        if placeholder is not None and isinstance(value, str | None):
            paths.append(value)
            constant = exp.convert(value)
            constant.update_positions(placeholder)
            placeholder.replace(constant)
    return made


def _placeholder(node: exp.Expr) -> exp.Placeholder | None:
    """The parameter that a call has for a path."""
    path = path_of(node)
    return path if isinstance(path, exp.Placeholder) else None
