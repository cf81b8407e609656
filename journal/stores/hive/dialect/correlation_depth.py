"""Rewrites subqueries that name columns two queries further out, or refuses them.

    SELECT q.m, q.m + b AS n FROM a, LATERAL (SELECT (SELECT .. WHERE c.k = a.k) AS m) AS q
    ->  SELECT (SELECT .. WHERE c.k = a.k) AS m, m + b AS n FROM a

A query that Spark runs within another knows the rows of that one, and of none around it. What it
says of others is that there is no such column, which there is. Pure: AST in, AST out.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import joined_sources

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "with_"})
"""Of a SELECT whose items may point at each other, and are pointed at by nothing else."""
_BESIDE = (exp.From, exp.Join, exp.SetOperation, exp.Subquery, exp.CTE, exp.Paren)
"""What a query is part of that is asked once, or that is the query itself."""
_NOT_OF_A_ROW = (exp.AggFunc, exp.Window, exp.UDTF, exp.Explode)


def bring_near(holder: exp.Expr) -> None:
    """Change a tree so that no query in it looks further than Spark does; raise NOT_SUPPORTED.

    Of names without a source nothing can be told: ``is_deep`` says where these look.
    """
    for select in list(holder.find_all(exp.Select)):
        for join in list(select.args.get("joins") or ()):
            given = _given_by(join)
            if given is not None:
                _write_out(select, join, given)
    for column in holder.find_all(exp.Column):
        if column.table and _is_far(column):
            raise too_far(column.sql(dialect="duckdb"))


def too_far(name: str) -> PalimpsestError:
    """A query looks at a column of a query two further out."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"a Hive store cannot run this: {name} belongs to a query two further out",
        advice="join the inner query with what it asks about, or hold small tables in the gateway"
        " (held_rows in the URL)",
    )


def is_deep(column: exp.Column) -> bool:
    """True in a query that is asked within a query that is asked within a third."""
    found: list[exp.Expr] = []
    node = column.parent
    while node is not None:
        found += [node] if _is_asked(node) else []
        node = node.parent
    return len(found) > 1


def _is_far(column: exp.Column) -> bool:
    crossed = 0
    node: exp.Expr | None = column
    while node is not None:
        if isinstance(node, exp.Select) and any(
            fold(source.alias_or_name) == fold(column.table) for source in joined_sources(node)
        ):
            return crossed > 1
        crossed += _is_asked(node)
        node = node.parent
    return False


def _is_asked(node: exp.Expr) -> bool:
    """True for a query that is asked for each row of another, and not once beside it."""
    above = node.parent
    if isinstance(node, exp.Subquery):
        return not isinstance(above, _BESIDE)
    return isinstance(node, exp.Exists)


def _given_by(join: exp.Join) -> dict[str, exp.Expr] | None:
    """What a row of expressions beside other sources names, where one of them asks a query."""
    lateral = join.this
    if not isinstance(lateral, exp.Lateral) or join.args.get("on") is not None or join.side:
        return None
    row = lateral.this.this if isinstance(lateral.this, exp.Subquery) else None
    alias = lateral.args.get("alias")
    if not isinstance(row, exp.Select) or alias is None or alias.columns:
        return None
    if {key for key, value in row.args.items() if value} != {"expressions"}:
        return None
    if not all(isinstance(item, exp.Alias) for item in row.expressions):
        return None
    nodes = list(row.walk(prune=lambda node: isinstance(node, exp.Query) and node is not row))
    asks = any(isinstance(node, exp.Query) for node in nodes if node is not row)
    if not asks or any(isinstance(node, _NOT_OF_A_ROW) for node in nodes):
        return None
    return {fold(item.alias): item.this for item in row.expressions}


def _write_out(select: exp.Select, join: exp.Join, given: dict[str, exp.Expr]) -> None:
    """Let items be what a source named, and later ones point at them; leave what is not so."""
    alias = join.this.alias
    if any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    if any(item.is_star for item in select.expressions):
        return
    items = list(select.expressions)
    named: dict[str, str] = {}
    uses: list[exp.Column] = []
    for item in items:
        found = [c for c in item.find_all(exp.Column) if fold(c.table) == fold(alias)]
        for use in found:
            if use is item.unalias() and fold(use.name) in given:
                named.setdefault(fold(use.name), item.alias_or_name)
            # Only what stands before an item may be pointed at by it.
            if fold(use.name) not in named or not _is_item(use, select):
                return
        uses += found
    meant = [c for c in select.find_all(exp.Column) if fold(c.name) in given]
    if sum(c.find_ancestor(exp.Join) is not join for c in meant) != len(uses):
        return
    for use in uses:
        name = fold(use.name)
        if name in given and use.parent is select:
            use.replace(exp.alias_(given.pop(name), exp.to_identifier(named[name])))
        elif name in given:
            use.replace(given.pop(name))
        else:
            use.replace(exp.column(exp.to_identifier(named[name])))
    join.pop()


def _is_item(column: exp.Column, select: exp.Select) -> bool:
    """True in the list of a SELECT, and not in a query, an aggregate or a window of it."""
    node: exp.Expr = column
    while node.parent is not None and node.parent is not select:
        node = node.parent
        if isinstance(node, exp.Query | exp.AggFunc | exp.Window):
            return False
    return True
