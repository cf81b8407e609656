"""NUMERIC without digits in PostgreSQL's dialect, for stores whose numbers all have a size. Pure.

PostgreSQL keeps any number in such a type. A store without one would take its own default, which
rounds to three digits or to none; here it has ten digits behind the point and 28 before it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sqlglot import exp

from journal.model.trees import copy_tree
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.statement import CreateMacro, CreateType, Explain, SqlStatement, Statement

DIGITS, FRACTION = 38, 10
T = TypeVar("T")


def with_sized_numbers(statement: Statement, context: RewriteContext) -> Statement:
    """The statement with digits at each NUMERIC that has none; the same if there is none."""
    if DIALECTS.get(context.dialect) != "postgres" or context.capabilities.unbounded_numbers:
        return statement
    if not isinstance(statement, SqlStatement | Explain | CreateType | CreateMacro):
        return statement
    return _sized(statement)


def _sized(value: T) -> T:
    if isinstance(value, exp.Expr):
        if not any(_is_open(kind) for kind in value.find_all(exp.DataType)):
            return value
        copied = exp.Paren(this=copy_tree(value))
        for kind in list(copied.find_all(exp.DataType)):
            if _is_open(kind):
                kind.set("expressions", _digits(kind))
        return copied.this  # type: ignore[no-any-return]
    if isinstance(value, tuple):
        parts = tuple(_sized(part) for part in value)
        changed = any(a is not b for a, b in zip(parts, value, strict=True))
        return parts if changed else value  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {f.name: getattr(value, f.name) for f in fields(value)}
        changes = {name: _sized(part) for name, part in found.items()}
        changes = {name: part for name, part in changes.items() if part is not found[name]}
        return replace(value, **changes) if changes else value
    return value


def _is_open(kind: exp.DataType) -> bool:
    return kind.this is exp.DType.DECIMAL and not kind.expressions


def _digits(kind: exp.DataType) -> list[exp.Expr]:
    """Digits for a type, more or fewer behind the point where a constant is cast that needs so."""
    fraction, holder = FRACTION, kind.parent
    if isinstance(holder, exp.Cast) and isinstance(holder.this, exp.Literal):
        whole, _, behind = holder.this.name.strip().lstrip("+-").partition(".")
        if whole.isdigit() and (behind.isdigit() or not behind):
            fraction = max(0, min(max(FRACTION, len(behind)), DIGITS - len(whole)))
    return [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (DIGITS, fraction)]
