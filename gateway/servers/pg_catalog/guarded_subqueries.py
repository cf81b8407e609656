"""Subqueries in branches of CASE, which find rows for these branches alone. Pure.

CASE WHEN c THEN (SELECT a FROM t WHERE d) END         becomes
CASE WHEN c THEN (SELECT a FROM t WHERE d AND c) END

PostgreSQL runs such a query where the branch is taken. The catalog's engine runs it for all rows,
and refuses more than one row of it also where nobody looks at them.
"""

from __future__ import annotations

from sqlglot import exp


def guard_subqueries(tree: exp.Expr) -> None:
    """Put the condition of a branch into its subqueries, in place."""
    for branch in tree.find_all(exp.If):
        if not isinstance(branch.parent, exp.Case) or branch.parent.this is not None:
            continue
        query = branch.args["true"].unnest()
        if isinstance(query, exp.Subquery):
            query = query.this
        if isinstance(query, exp.Select) and _may_move(branch.this, query):
            query.where(branch.this.copy(), copy=False)


def _may_move(condition: exp.Expr, query: exp.Select) -> bool:
    """True if the names in a condition mean the same in a query without groups."""
    if query.args.get("group") or any(query.find_all(exp.AggFunc, exp.Limit)):
        return False
    names = {source.alias_or_name.lower() for source in query.find_all(exp.Table, exp.Subquery)}
    columns = list(condition.find_all(exp.Column))
    return all(column.table and column.table.lower() not in names for column in columns)
