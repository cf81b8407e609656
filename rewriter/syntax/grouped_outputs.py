"""GROUP BY the name of an output which a table of the query has as well, as in PostgreSQL. Pure.

    SELECT a.name AS a, count(*) FROM s AS a GROUP BY a        .. GROUP BY a.name

Stores take the name for that of the table, and group by its whole rows. dbt asks so.
"""

from __future__ import annotations

from sqlglot import exp


def spell_grouped_outputs(ast: exp.Expr) -> None:
    """Put the expressions of such outputs into GROUP BY, in place.

    A column of that name goes first, so nothing changes where the query names one.
    """
    for group in list(ast.find_all(exp.Group)):
        select = group.parent
        if isinstance(select, exp.Select):
            _spell(group, select)


def _spell(group: exp.Group, select: exp.Select) -> None:
    bare = [n for n in group.expressions if isinstance(n, exp.Column) and not n.table]
    if not bare:
        return
    outputs = {e.alias: e.this for e in select.expressions if isinstance(e, exp.Alias)}
    from_ = select.args.get("from_")
    sources = [] if from_ is None else [from_.this]
    sources += [join.this for join in select.args.get("joins") or []]
    tables = {source.alias_or_name for source in sources}
    named = {c.name for e in select.expressions for c in e.find_all(exp.Column)}
    for node in bare:
        value = outputs.get(node.name)
        is_meant = node.name in tables and node.name not in named
        if value is not None and is_meant and not isinstance(value, exp.Literal):
            node.replace(value.copy())
