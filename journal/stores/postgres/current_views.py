"""Current views as the server's planner takes them best: the same rows, by another text. Pure.

    FROM (base UNION ALL head WHERE end IS NULL) o ANTI JOIN head c ON .. c.end > c.start

The server makes one relation of a union only where no part of it has a condition. As one it is read
in the order of an index, and nothing stands between a scan and the join.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.sql.relations import ident

_BASE = re.compile(r"t\d+(x\d+)?_base$")


def ease_planning(tree: exp.Expr) -> None:
    """Change the current views in a tree that nobody else has."""
    for join in list(tree.find_all(exp.Join)):
        if join.kind == "ANTI":
            _say_not_null(join)
            _ask_last(join)


def _say_not_null(join: exp.Join) -> None:
    """Say of what is compared with another column of a closing row that it is not NULL.

    It follows from the comparison, but the server knows how often columns are NULL, and takes a
    third of all rows for those of which one column is greater than another.
    """
    on = join.args.get("on")
    for found in list(on.find_all(exp.GT)) if isinstance(on, exp.And) else ():
        left, right = found.this, found.expression
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            if left.table == right.table == join.alias_or_name:
                is_null = exp.Is(this=left.copy(), expression=exp.Null())
                found.replace(exp.and_(exp.Not(this=is_null), found.copy()))


def _ask_last(join: exp.Join) -> None:
    """Ask of all rows of a union at once whether they are open.

    The view of a base says NULL for the end of each row, so that this costs no time there.
    """
    select = join.parent
    source = select.args["from_"].this if isinstance(select, exp.Select) else None
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Union):
        return
    parts = list(_parts(source.this))
    asked = {part: _open_column(part) for part in parts if not _is_base(part)}
    names = set(asked.values())
    if not asked or None in names or len(names) > 1:
        return
    (name,) = names
    assert isinstance(select, exp.Select)
    assert name is not None
    for part in asked:
        part.set("where", None)
    end = exp.Column(this=ident(name), table=exp.to_identifier(source.alias))
    select.where(exp.Is(this=end, expression=exp.Null()), copy=False)


def _parts(query: exp.Expr) -> Iterator[exp.Expr]:
    """The queries that a UNION ALL puts together."""
    if isinstance(query, exp.Union) and query.args.get("distinct") is False:
        for part in (query.this, query.expression):
            yield from _parts(part)
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
