"""Joins by USING, whose columns Apache Hive does not merge as others do.

    SELECT id FROM a JOIN b USING (id)         SELECT a.id: Hive takes the bare name for a function
    SELECT * FROM a FULL JOIN b USING (id)     refused: Hive gives NULL for rows of b alone

Never names a column that may belong to several joins: that is refused. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.relations import ident
from journal.stores.hive.refused import refused


def name_merged(select: exp.Select) -> None:
    """Say in a SELECT of which table a column is that USING merges; raises NOT_SUPPORTED."""
    joins = select.args.get("joins") or []
    found = [join for join in joins if join.args.get("using")]
    if any(join.side == "FULL" for join in found):
        raise refused("FULL JOIN .. USING")
    merged = {fold(name.name) for join in found for name in join.args["using"]}
    bare = [column for column in _bare(select) if fold(column.name) in merged]
    if not bare:
        return
    if len(joins) > 1:
        raise refused(f"{bare[0].name}, which USING merges, without its table beside other joins")
    source = joins[0].this if joins[0].side == "RIGHT" else select.args["from_"].this
    for column in bare:
        column.set("table", ident(source.alias_or_name))


def _bare(select: exp.Select) -> list[exp.Column]:
    """Columns of a SELECT, not of queries in it, that name no table and no output of its own."""
    outputs = {fold(item.alias) for item in select.selects if isinstance(item, exp.Alias)}
    return [
        column
        for column in select.find_all(exp.Column)
        if not column.table
        and not isinstance(column.this, exp.Star)
        and column.find_ancestor(exp.Select) is select
        and not (column.find_ancestor(exp.Ordered) and fold(column.name) in outputs)
    ]
