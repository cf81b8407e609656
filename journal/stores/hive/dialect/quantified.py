"""Comparisons with ALL or ANY of a subquery or a list, in terms that Spark has.

    x > ALL (q)  =  no row -> true;  x <= max(q) -> false;  a null on either side -> null;  true
    x > ANY (q)  =  NOT x <= ALL (q)          x = ANY (q)  =  x IN (q)       x <> ALL (q)  =  NOT IN
    x > ALL ([..])  =  forall(.., v -> x > v)

Where IN is not a condition of its own, Spark answers false where it is not known, so it is written
out, too. Pure; what it is given is left as it is.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.relations import column

_OPPOSITE: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
}
_FURTHEST: dict[type[exp.Expr], tuple[type[exp.AggFunc], ...]] = {
    exp.EQ: (exp.Min, exp.Max),
    exp.GT: (exp.Max,),
    exp.GTE: (exp.Max,),
    exp.LT: (exp.Min,),
    exp.LTE: (exp.Min,),
}
"""Which of a subquery's values say that a comparison fails for one of them."""
_VALUE = "v"
_IS_UNKNOWN = "(x IS NULL OR nulls > 0)"
"""True if a null is compared with something, or something with a null."""


def quantified(node: exp.Expr) -> exp.Expr | None:
    """What stands for a comparison with ALL or ANY; None for other comparisons."""
    assert isinstance(node, exp.Binary)
    right = node.expression
    if isinstance(right, exp.Anonymous) and str(right.this).upper() == "ALL":
        (items,) = right.expressions
        return _of_list("forall", type(node), node.this, items)
    if not isinstance(right, exp.All | exp.Any):
        return None
    rows = right.this.unnest() if isinstance(right.this, exp.Paren) else right.this
    if isinstance(rows, exp.Subquery) and not rows.alias:
        rows = rows.this
    if not isinstance(rows, exp.Query):
        name = "forall" if isinstance(right, exp.All) else "exists"
        return _of_list(name, type(node), node.this, rows)
    if isinstance(right, exp.All):
        return _all(type(node), node.this, rows)
    return exp.Not(this=exp.Paren(this=_all(_OPPOSITE[type(node)], node.this, rows)))


def _of_list(name: str, kind: type[exp.Binary], left: exp.Expr, items: exp.Expr) -> exp.Expr:
    value = exp.to_identifier(_VALUE)
    compared = kind(this=left.copy(), expression=value.copy())
    return call(name, items, exp.Lambda(this=compared, expressions=[value]))


def _all(kind: type[exp.Binary], left: exp.Expr, rows: exp.Query) -> exp.Expr:
    if kind is exp.NEQ:
        return exp.Not(this=_in(left, rows))
    fails = [
        _OPPOSITE[kind](this=left.copy(), expression=_of(rows, furthest(this=column(_VALUE, "q"))))
        for furthest in _FURTHEST[kind]
    ]
    compared = (
        "CASE WHEN number = 0 THEN TRUE WHEN fails THEN FALSE"
        f" WHEN {_IS_UNKNOWN} THEN NULL ELSE TRUE END"
    )
    return fill(compared, fails=exp.or_(*fails), **_parts(left, rows))


def in_query(node: exp.Expr) -> exp.Expr | None:
    """What stands for IN with a subquery where that is no condition of its own, or with nothing.

    None for every other IN.
    """
    query = node.args.get("query")
    if not any(node.args.get(part) for part in ("query", "expressions", "unnest", "field")):
        return fill("CASE WHEN NOT x IS NULL THEN FALSE END", x=node.this)
    if query is None or isinstance(node.this, exp.Tuple) or _is_condition(node):
        return None
    rows = query.this if isinstance(query, exp.Subquery) else query
    return _in(node.this, rows)


def _in(left: exp.Expr, rows: exp.Query) -> exp.Expr:
    found = exp.In(this=left.copy(), query=rows.copy().subquery())
    compared = (
        "CASE WHEN found THEN TRUE WHEN number = 0 THEN FALSE"
        f" WHEN {_IS_UNKNOWN} THEN NULL ELSE FALSE END"
    )
    return fill(compared, found=found, **_parts(left, rows))


def _is_condition(node: exp.Expr) -> bool:
    """True if rows are kept where a comparison, or its opposite, holds, whatever else is asked."""
    if isinstance(node.parent, exp.Not):
        node = node.parent
    while isinstance(node.parent, exp.And | exp.Paren):
        node = node.parent
    return isinstance(node.parent, exp.Where | exp.Having)


def _parts(left: exp.Expr, rows: exp.Query) -> dict[str, exp.Expr]:
    """Parts of the pieces above: the value, the number of rows, and that of nulls in them."""
    nulls = fill("COUNT(*) - COUNT(v)", v=column(_VALUE, "q"))
    counted = _of(rows, exp.Count(this=exp.Star()))
    return {"x": left, "number": counted, "nulls": _of(rows, nulls)}


def _of(rows: exp.Query, value: exp.Expr) -> exp.Subquery:
    """One value over all rows of a subquery of one column."""
    alias = exp.TableAlias(this=exp.to_identifier("q"), columns=[exp.to_identifier(_VALUE)])
    source = exp.Subquery(this=rows.copy(), alias=alias)
    return exp.Subquery(this=exp.select(value).from_(source))
