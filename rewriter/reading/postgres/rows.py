"""Rows that are compared, by what PostgreSQL says of NULL in them, for other stores. Pure.

(a, b) = (1, 2)            a = 1 AND b = 2
(a, b) <> (1, 2)           a <> 1 OR b <> 2
(a, b) < (1, 2)            a < 1 OR (a = 1 AND b < 2)
(a, b) IN ((1, 2))         a = 1 AND b = 2
(a, b) IN ((1, 2), (3, 4)) a = 1 AND b = 2 OR a = 3 AND b = 4; where only rows for which it is
                           true matter: a IN (1, 3) AND b IN (2, 4) AND (..)
(a, b) IS NOT NULL         a IS NOT NULL AND b IS NOT NULL
(a, b) = (SELECT x, y ..)  (SELECT a = v1 AND b = v2 FROM (SELECT x, y ..) AS q (v1, v2))

Other stores compare rows as values in which NULL equals itself and is larger than all else. They
find rows by conditions on single columns in few files.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.relations import column, ident

KINDS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Is)
_STRICT: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.LT,
    exp.LTE: exp.LT,
    exp.GT: exp.GT,
    exp.GTE: exp.GT,
}
_LIST_MAX = 1_000
"""Longer lists are left to the store, as a condition for each row would be slow."""
_WRITTEN_OUT_MAX = 50
"""Shorter lists are conditions for each row, whose values have the types of the columns then."""
_COMPARED = "compares_rows"
"""Marks a list that the store may compare as it does, beside conditions that leave out NULL."""

_QUERY = "row_of_query"


def concerns_rows(node: exp.Expr) -> bool:
    """True for two rows of as many values, one of which may be of a query, and for a row that is
    in a list, or may be NULL.
    """
    values = row_values(node.this)
    if not values or is_assignment(node):
        return False
    if isinstance(node, exp.Is):
        return isinstance(node.expression, exp.Null)
    if isinstance(node, exp.In):
        listed = node.expressions
        if not listed or _COMPARED in node.meta:
            return False
        if len(listed) > _LIST_MAX and not _is_filter(node):
            return False
        return all(len(row_values(item)) == len(values) for item in listed)
    other = node.expression
    return len(row_values(other)) == len(values) or _row_query(other, len(values)) is not None


def is_assignment(node: exp.Expr) -> bool:
    """True for ``a = 1`` and ``(a, b) = (1, 2)`` behind SET."""
    return node.arg_key == "expressions" and isinstance(node.parent, exp.Update | exp.OnConflict)


def spell_rows(node: exp.Expr) -> None:
    """Put conditions on the values in the place of such a comparison."""
    left = row_values(node.this)
    made: exp.Expr
    query = None if isinstance(node, exp.In) else _row_query(node.expression, len(left))
    if query is not None:
        _compare_inside(node, query, len(left))
        return
    if isinstance(node, exp.In):
        made = _listed(node, left)
    elif isinstance(node, exp.Is):
        made = _nullity(node, left)
    elif isinstance(node, exp.EQ):
        made = _equal(left, row_values(node.expression))
    elif isinstance(node, exp.NEQ):
        pairs = zip(left, row_values(node.expression), strict=True)
        made = exp.or_(*(exp.NEQ(this=a.copy(), expression=b.copy()) for a, b in pairs), copy=False)
    else:
        made = _ordered(type(node), left, row_values(node.expression))
    node.replace(exp.Paren(this=made))


def _row_query(node: exp.Expr, width: int) -> exp.Query | None:
    """The query in parentheses that gives a row of as many values, more than one."""
    while isinstance(node, exp.Paren):
        node = node.this
    query = node.this if isinstance(node, exp.Subquery) else None
    outputs = query.selects if isinstance(query, exp.Query) else []
    if width < 2 or len(outputs) != width or any(output.is_star for output in outputs):
        return None
    return query


def _compare_inside(node: exp.Expr, query: exp.Query, width: int) -> None:
    """Put a query over that query in the place of the comparison, which is made in it."""
    names = [ident(f"v{place}") for place in range(1, width + 1)]
    row = exp.Tuple(expressions=[column(name.name, _QUERY) for name in names])
    compared = exp.Paren(this=type(node)(this=node.this.copy(), expression=row))
    spell_rows(compared.this)
    alias = exp.TableAlias(this=ident(_QUERY), columns=names)
    source = exp.Subquery(this=query.copy(), alias=alias)
    made = exp.Select(expressions=[compared.this]).from_(source, copy=False)
    node.replace(exp.Subquery(this=made))


def _nullity(node: exp.Is, values: Sequence[exp.Expr]) -> exp.Expr:
    """Of a row all values are NULL, or all are not: of some rows neither is true."""
    negate = node.args.get("negate")
    each = [exp.Is(this=v.copy(), expression=exp.Null(), negate=negate) for v in values]
    return exp.and_(*each, copy=False)


def row_values(node: exp.Expr | None) -> Sequence[exp.Expr]:
    """The values of a row that is written out; none for anything else."""
    while isinstance(node, exp.Paren):
        node = node.this
    is_row = isinstance(node, exp.Anonymous) and node.name.upper() == "ROW"
    return node.expressions if node is not None and (is_row or isinstance(node, exp.Tuple)) else ()


def _listed(node: exp.In, left: Sequence[exp.Expr]) -> exp.Expr:
    rows = [row_values(item) for item in node.expressions]
    is_short = len(rows) <= _WRITTEN_OUT_MAX
    compared: exp.Expr
    if is_short or not _is_filter(node):
        compared = exp.or_(*(_equal(left, row) for row in rows), copy=False)
    else:
        compared = node.copy()
        compared.meta[_COMPARED] = True
    if len(rows) == 1 or not _is_filter(node):
        return compared
    each = [
        exp.In(this=value.copy(), expressions=[row[place].copy() for row in rows])
        for place, value in enumerate(left)
    ]
    return exp.and_(*each, compared, copy=False)


def _is_filter(node: exp.Expr) -> bool:
    """True for a condition that leaves out a row for NULL as it does for false."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.And | exp.Or):
        parent = parent.parent
    return isinstance(parent, exp.Where | exp.Having | exp.Qualify)


def _equal(left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    pairs = zip(left, right, strict=True)
    return exp.and_(*(exp.EQ(this=a.copy(), expression=b.copy()) for a, b in pairs), copy=False)


def _ordered(kind: type[exp.Expr], left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    """The first values decide, or where they are equal those behind them."""
    (first, *others), (second, *more) = left, right
    if not others:
        return kind(this=first.copy(), expression=second.copy())
    same = exp.EQ(this=first.copy(), expression=second.copy())
    before = _STRICT[kind](this=first.copy(), expression=second.copy())
    rest = exp.and_(same, _ordered(kind, others, more), copy=False)
    return exp.or_(before, exp.Paren(this=rest), copy=False)
