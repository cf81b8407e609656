"""Current views that filter base and changes in one condition over both. Pure.

    FROM (base UNION ALL changes WHERE end IS NULL) o ANTI JOIN changes c ON ..
 -> FROM (base UNION ALL changes) o ANTI JOIN changes c ON .. WHERE o.end IS NULL

A base has NULL for the end of each row. Without a condition in its parts a union is one relation to
PostgreSQL, and one scan to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.sql.relations import ident

_BASE = re.compile(r"t\d+(x\d+)?_base$")


def ask_last(join: exp.Join) -> exp.Subquery | None:
    """Ask of all rows of a current view at once whether they are open; what it unites.

    Args:
        join: The anti-join of a tree that nobody else has, which is changed in place.

    Returns:
        What stands in FROM beside the join; None, and nothing is changed, where that is no
        ``base UNION ALL changes WHERE end IS NULL``.
    """
    select = join.parent
    source = select.args["from_"].this if isinstance(select, exp.Select) else None
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Union):
        return None
    parts = list(united(source.this))
    asked = {part: _open_column(part) for part in parts if not _is_base(part)}
    names = set(asked.values())
    if not asked or None in names or len(names) > 1:
        return None
    (name,) = names
    assert isinstance(select, exp.Select)
    assert name is not None
    for part in asked:
        part.set("where", None)
    end = exp.Column(this=ident(name), table=exp.to_identifier(source.alias))
    select.where(exp.Is(this=end, expression=exp.Null()), copy=False)
    return source


def united(query: exp.Expr) -> Iterator[exp.Expr]:
    """The queries that a UNION ALL puts together."""
    if isinstance(query, exp.Union) and query.args.get("distinct") is False:
        for part in (query.this, query.expression):
            yield from united(part)
    else:
        yield query


def _is_base(part: exp.Expr) -> bool:
    """True for all rows of a base."""
    source = part.args["from_"].this if isinstance(part, exp.Select) else None
    return (
        isinstance(source, exp.Table)
        and source.db == STORE_SCHEMA
        and _BASE.match(source.name) is not None
        and part.args.get("where") is None
    )


def _open_column(part: exp.Expr) -> str | None:
    """The column of which a query asks only whether it is NULL; None for another query."""
    where = part.args.get("where")
    asked = where.this if isinstance(part, exp.Select) and where is not None else None
    if not isinstance(asked, exp.Is) or not isinstance(asked.expression, exp.Null):
        return None
    column = asked.this
    is_plain = isinstance(column, exp.Column) and not part.args.get("joins")
    assert isinstance(part, exp.Select)
    return column.name if is_plain and column.name in part.named_selects else None
