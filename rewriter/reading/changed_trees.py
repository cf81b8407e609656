"""Applies a change to every tree that a statement holds. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sqlglot import exp

T = TypeVar("T")


def with_changed_trees(value: T, change: Callable[[exp.Expr], exp.Expr]) -> T:
    """A statement whose trees are what ``change`` gives for them; the same if these are the same.

    ``change`` leaves the tree that it is given as it is.
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
