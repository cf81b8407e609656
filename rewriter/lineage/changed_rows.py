"""The rows that a statement changes: which they are, and what RETURNING gives of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.lineage.scope import fold
from rewriter.lineage.sources import NONE, OF_ROWS, Sources
from rewriter.lineage.targets import ColumnTarget, row_sources


def query_of_returning(returning: exp.Returning, target: exp.Table, node: exp.Expr) -> exp.Select:
    """What RETURNING gives, as a query of the table that is changed and of those beside it.

    A star is one of the table alone.
    """
    query = exp.select(*[e.copy() for e in returning.expressions]).from_(target.copy())
    if not any(e.is_star for e in returning.expressions):
        for beside in _tables_beside(node):
            query = query.join(beside.copy(), join_type="CROSS", copy=False)
    return query


def _tables_beside(node: exp.Expr) -> list[exp.Expr]:
    """What an UPDATE, DELETE or MERGE reads beside the table that it changes."""
    clause, using = node.args.get("from_"), node.args.get("using")
    items = list(using) if isinstance(using, list) else [using]
    joins = list(node.args.get("joins") or [])
    if clause is not None:
        items.append(clause.this)
        joins += clause.args.get("joins") or []
    return [one for one in (*items, *(join.this for join in joins)) if isinstance(one, exp.Expr)]


def keys_compared(conflict: exp.Expr, table: str) -> list[exp.Expr]:
    """The columns of ON CONFLICT (..), of its table and of the new row; none if it names none."""
    keys = conflict.args.get("conflict_keys") or []
    found = [column for key in keys for column in key.find_all(exp.Column)]
    names = dict.fromkeys(map(fold, found))
    sides = [side for side in ("excluded", table) if side]
    return [exp.column(name, table=side, quoted=True) for name in names for side in sides]


def rows_changed(node: exp.Expr, made: Sequence[ColumnTarget]) -> Sources:
    """What decides which rows a statement returns; ``made`` is what it writes.

    What decides about rows that are added stands at the columns of their table already.
    """
    if isinstance(node, exp.Merge):
        return frozenset(s for target in made for s in target.sources if s.subtype in OF_ROWS)
    return NONE if isinstance(node, exp.Insert) else row_sources(made)
