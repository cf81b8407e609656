"""Subqueries and series in FROM, on a PostgreSQL store. Pure.

FROM t, (SELECT unnest(t.l)) AS u    DuckDB needs no LATERAL for it
FROM range(3) AS r                   its column is r
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.schema import fold


def with_laterals(node: exp.Select) -> exp.Select | None:
    """A SELECT with LATERAL before the subqueries that need it; None if none does."""
    joins: list[exp.Expr] = node.args.get("joins") or []
    start = node.args.get("from_")
    before = set() if start is None else {fold(start.this.alias_or_name)}
    found = []
    for place, join in enumerate(joins):
        source = join.this
        if isinstance(source, exp.Subquery) and _names_others(source.this, before):
            found.append(place)
        before.add(fold(source.alias_or_name))
    if not found:
        return None
    made = node.copy()
    for place in found:
        join = made.args["joins"][place]
        subquery = join.this
        alias = subquery.args.get("alias")
        subquery.set("alias", None)
        join.set("this", exp.Lateral(this=subquery.copy(), alias=alias))
        if not join.args.get("on") and not join.kind and join.side:
            join.set("on", exp.true())
    return made


def _names_others(query: object, before: set[str]) -> bool:
    """True for a query with a column of a relation before it."""
    if not isinstance(query, exp.Query):
        return False
    inside = {fold(source.alias_or_name) for source in query.find_all(exp.Table, exp.Subquery)}
    inside |= {fold(source.alias) for source in query.find_all(exp.UDTF)}
    if any(fold(name) in before - inside for name in _owners(query)):
        return True
    if not isinstance(query, exp.Select) or query.args.get("from_") is not None:
        return False
    return any(True for _ in query.find_all(exp.Column)) and query.find(exp.Query) is query


def _owners(query: exp.Query) -> Iterator[str]:
    for column in query.find_all(exp.Column):
        if column.table and not column.db:
            yield column.table


def name_series(node: exp.Expr, _: object) -> exp.Expr | None:
    """``range(3) AS r``, whose column is r, unless the query says ``range``."""
    alias, called = node.args.get("alias"), node.this
    if not isinstance(called, exp.GenerateSeries) or not isinstance(alias, exp.TableAlias):
        return None
    name = "range" if called.args.get("is_end_exclusive") else "generate_series"
    select = node.find_ancestor(exp.Select)
    columns = [] if select is None else select.find_all(exp.Column)
    if alias.columns or not alias.name or any(fold(column.name) == name for column in columns):
        return None
    made = node.copy()
    made.args["alias"].set("columns", [alias.this.copy()])
    return made
