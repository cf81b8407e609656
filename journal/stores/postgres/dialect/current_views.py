"""Current views in the form that PostgreSQL's planner reads best. Pure.

    FROM (base UNION ALL head WHERE end IS NULL) o ANTI JOIN head c ON .. c.end > c.start

The server makes one relation of a union only where no part of it has a condition. As one it is read
in the order of an index, and nothing stands between a scan and the join.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.current_views import ask_last


def ease_planning(tree: exp.Expr) -> None:
    """Change the current views in a tree that nobody else has."""
    for join in list(tree.find_all(exp.Join)):
        if join.kind == "ANTI":
            _say_not_null(join)
            ask_last(join)


def _say_not_null(join: exp.Join) -> None:
    """Say of what is compared with another column of a closing row that it is not NULL.

    It follows from the comparison, but the server knows how often columns are NULL, and takes a
    third of all rows for those of which one column is greater than another. "Or it is the same as
    the other" adds no row. But the server takes one row in two hundred for one where two columns
    are the same, so that it never reads for each row what it believes to be a single one.
    """
    on = join.args.get("on")
    for found in list(on.find_all(exp.GT)) if isinstance(on, exp.And) else ():
        left, right = found.this, found.expression
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            if left.table == right.table == join.alias_or_name:
                is_null = exp.Is(this=left.copy(), expression=exp.Null())
                is_same = exp.EQ(this=left.copy(), expression=right.copy())
                is_known = exp.paren(exp.or_(exp.Not(this=is_null), is_same), copy=False)
                found.replace(exp.and_(is_known, found.copy()))
