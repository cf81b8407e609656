"""Finding the predicates that pin a table's whole key to one value, so that one row is looked up.

``WHERE k = 5`` on a table's key means at most one current row; the relation for it can be found by
key in each tier instead of by joining tiers. The predicate itself stays in the query. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.schema import Table, fold
from journal.trees import copied

Keys = dict[str, exp.Expr]
"""Constant expressions by physical key column."""


def pinned_keys(node: exp.Table, table: Table) -> Keys | None:
    """The key values that the SELECT around a table reference demands, or None."""
    holder = node.parent
    select = holder.parent if isinstance(holder, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select):
        return None
    where = select.args.get("where")
    if where is None:
        return None
    alone = not select.args.get("joins") and not select.args.get("laterals")
    return keys_in(where.this, table, node.alias_or_name, alone=alone)


def keys_in(condition: exp.Expr, table: Table, alias: str, *, alone: bool) -> Keys | None:
    """The key values a condition demands of ``alias``; ``alone``: bare names mean it too."""
    if table.hidden_key:
        return None
    wanted = {fold(table.by_physical(p).name): p for p in table.key}
    found: Keys = {}
    for part in _conjuncts(condition):
        if not isinstance(part, exp.EQ):
            continue
        for left, right in ((part.this, part.expression), (part.expression, part.this)):
            if not isinstance(left, exp.Column) or not is_constant(right):
                continue
            of = left.table
            if (fold(of) == fold(alias) if of else alone) and fold(left.name) in wanted:
                found.setdefault(wanted[fold(left.name)], copied(right))
    return found if len(found) == len(wanted) else None


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition


def is_constant(node: exp.Expr) -> bool:
    """True for a value that the statement itself gives."""
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return is_constant(node.this)
    return isinstance(node, exp.Literal | exp.Placeholder)
