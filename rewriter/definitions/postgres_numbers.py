"""Numbers as PostgreSQL's dialect means them, for stores that mean others. Pure.

NUMERIC without digits keeps any number in PostgreSQL. A store without such a type would take its
own default, which rounds to three digits or to none; here it has ten digits behind the point and 28
before it. ``7 / 2`` is 3, as both are whole, where other stores say 3.5 and have ``//`` for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import copy_tree
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.name_resolution import table_name
from rewriter.statement import CreateMacro, CreateType, Explain, SqlStatement, Statement

DIGITS, FRACTION = 38, 10
_INTERVAL = exp.DType.INTERVAL
_LARGE = frozenset({"BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT", "UINTEGER"})
"""Types of columns whose sums are NUMERIC in PostgreSQL."""
_NOT_WHOLE = (exp.Extract, exp.Round, exp.Floor, exp.Ceil, exp.Trunc)
"""Calls that give no whole number in PostgreSQL, and may give one here."""
T = TypeVar("T")


def with_postgres_numbers(statement: Statement, context: RewriteContext) -> Statement:
    """The statement in words of the store; the same if there is nothing to say otherwise."""
    if DIALECTS.get(context.dialect) != "postgres" or context.capabilities.unbounded_numbers:
        return statement
    if not isinstance(statement, SqlStatement | Explain | CreateType | CreateMacro):
        return statement
    return _changed(statement, context)


def _changed(value: T, context: RewriteContext) -> T:
    if isinstance(value, exp.Expr):
        if not any(_concerns(node, context) for node in value.find_all(exp.DataType, exp.Div)):
            return value
        holder = exp.Paren(this=copy_tree(value))
        for node in list(holder.find_all(exp.DataType, exp.Div)):
            if not _concerns(node, context):
                continue
            if isinstance(node, exp.DataType):
                node.set("expressions", _digits(node))
            elif not any(_is_no_number(side, holder, context) for side in _operands(node)):
                node.replace(exp.IntDiv(this=node.this, expression=node.expression))
        return holder.this  # type: ignore[no-any-return]
    if isinstance(value, tuple):
        parts = tuple(_changed(part, context) for part in value)
        changed = any(a is not b for a, b in zip(parts, value, strict=True))
        return parts if changed else value  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {f.name: getattr(value, f.name) for f in fields(value)}
        changes = {name: _changed(part, context) for name, part in found.items()}
        changes = {name: part for name, part in changes.items() if part is not found[name]}
        return replace(value, **changes) if changes else value
    return value


def _concerns(node: exp.Expr, context: RewriteContext) -> bool:
    if isinstance(node, exp.DataType):
        return node.this is exp.DType.DECIMAL and not node.expressions
    return bool(node.args.get("typed")) and context.capabilities.divides_by_type


def _digits(kind: exp.DataType) -> list[exp.Expr]:
    """Digits for a type, more or fewer behind the point where a constant is cast that needs so."""
    fraction, holder = FRACTION, kind.parent
    if isinstance(holder, exp.Cast) and isinstance(holder.this, exp.Literal):
        whole, _, behind = holder.this.name.strip().lstrip("+-").partition(".")
        if whole.isdigit() and (behind.isdigit() or not behind):
            fraction = max(0, min(max(FRACTION, len(behind)), DIGITS - len(whole)))
    return [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (DIGITS, fraction)]


def _operands(division: exp.Expr) -> Iterator[exp.Expr]:
    for side in (division.this, division.args["expression"]):
        yield side.unnest() if isinstance(side, exp.Paren) else side


def _is_no_number(side: exp.Expr, tree: exp.Expr, context: RewriteContext) -> bool:
    """True for what ``//`` does not take, or takes for a whole number that it is not."""
    if isinstance(side, exp.Interval) or side.is_type(_INTERVAL):
        return True
    if isinstance(side, _NOT_WHOLE):
        return True
    if isinstance(side, exp.Cast):
        return bool(side.to.is_type(_INTERVAL))
    if isinstance(side, exp.Window | exp.Filter):
        return _is_no_number(side.this, tree, context)
    if isinstance(side, exp.Sum):
        return isinstance(side.this, exp.Column) and _type_of(side.this, tree, context) in _LARGE
    if isinstance(side, exp.Column):
        return _type_of(side, tree, context) == "INTERVAL"
    if isinstance(side, exp.Binary | exp.Paren | exp.Neg):
        return any(_is_no_number(part, tree, context) for part in side.iter_expressions())
    return False


def _type_of(column: exp.Column, tree: exp.Expr, context: RewriteContext) -> str | None:
    """The type of a column of one of the tables that a statement names, by the column's name."""
    for node in tree.find_all(exp.Table):
        if column.table and fold(column.table) != fold(node.alias_or_name):
            continue
        table = context.catalog.get(table_name(node, context)) if node.name else None
        found = table.find(column.name) if isinstance(table, Table) else None
        if found is not None:
            return found.type
    return None
