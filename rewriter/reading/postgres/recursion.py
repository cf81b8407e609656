"""Which recursive queries PostgreSQL takes: others would run without an end elsewhere. Pure.

WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT count(*) FROM x) ..       an aggregate of its rows
.. UNION ALL SELECT n + 1 FROM x WHERE n IN (SELECT * FROM x)               within a subquery
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.quoting import not_here


def check_recursion(tree: exp.Expr) -> None:
    """Raise RECURSION for a recursive query that refers to itself where it must not.

    NOT_SUPPORTED for one that would not end.
    """
    for with_ in tree.find_all(exp.With):
        for cte in with_.expressions if with_.args.get("recursive") else ():
            _check_query(cte)


def _check_query(cte: exp.CTE) -> None:
    name, query = fold(cte.alias), cte.this
    while isinstance(query, exp.Subquery) and query.args.get("with_") is None:
        query = query.this
    if not isinstance(query, exp.Union):
        return
    for node in _references(query.this, name):
        raise _refusal(node, "within its non-recursive term")
    found = _references(query.expression, name)
    for node in found[1:]:
        raise _refusal(node, "more than once")
    for node in found:
        _check_place(node, query.expression)
        around = node.find_ancestor(exp.With)
        if around is not None and around.args.get("recursive") and around is not cte.parent:
            # PostgreSQL ends it with the rows that LIMIT takes; others compute all of them first.
            what = "a recursive query within the recursive part of another one, which it reads"
            raise not_here(node, what, "write one recursive query")


def _references(query: exp.Expr, name: str) -> list[exp.Table]:
    """The places where a query is named; none behind a WITH that may give the name to another."""
    if any(fold(cte.alias) == name for cte in query.find_all(exp.CTE)):
        return []
    return [t for t in query.find_all(exp.Table) if not t.db and fold(t.name) == name]


def _check_place(reference: exp.Table, term: exp.Expr) -> None:
    """Raise for a reference in a subquery, an outer join, a set operation or an aggregate."""
    node: exp.Expr = reference
    while node is not term and node.parent is not None:
        parent = node.parent
        is_taken_away = isinstance(parent, exp.Except) and node.arg_key == "expression"
        is_counted = isinstance(parent, exp.Except | exp.Intersect) and not parent.args["distinct"]
        if is_taken_away or is_counted:
            raise _refusal(reference, f"within {parent.key.upper()}")
        is_source = isinstance(parent, exp.From | exp.Join | exp.Subquery | exp.Query | exp.With)
        if isinstance(node, exp.Query) and not (is_source or isinstance(parent, exp.CTE)):
            raise _refusal(reference, "within a subquery")
        if isinstance(parent, exp.Select) and node.arg_key in {"from_", "joins"}:
            _check_select(reference, parent, node)
        elif isinstance(parent, exp.Select) and not isinstance(node, exp.With):
            raise _refusal(reference, "within a subquery")
        node = parent


def _check_select(reference: exp.Table, select: exp.Select, source: exp.Expr) -> None:
    is_behind = source.arg_key == "from_"
    for join in select.args.get("joins") or ():
        nullable = {"FULL"} | ({"RIGHT"} if is_behind else set())
        if join is source:
            nullable, is_behind = {"FULL", "LEFT"}, True
        if (join is source or is_behind) and join.side.upper() in nullable:
            raise _refusal(reference, "within an outer join")
    for output in (*select.expressions, select.args.get("having")):
        for call in output.find_all(exp.AggFunc) if output is not None else ():
            is_own = call.find_ancestor(exp.Query) is select
            if is_own and not isinstance(call.parent, exp.Window):
                raise PalimpsestError(
                    Code.RECURSION,
                    "aggregate functions are not allowed in a recursive query's recursive term",
                    advice="aggregate the rows of the whole recursive query",
                    position=position_of(call),
                )


def _refusal(node: exp.Expr, where: str) -> PalimpsestError:
    return PalimpsestError(
        Code.RECURSION,
        f'recursive reference to query "{node.name}" must not appear {where}',
        advice="join it once, in the FROM of the part behind UNION",
        position=position_of(node),
    )
