"""PostgreSQL's aggregates of a supposed row, of different values, and of intervals. Pure.

    rank(3) WITHIN GROUP (ORDER BY x)      1 + COUNT(*) FILTER (WHERE x < 3)

The same of ``dense_rank``, ``percent_rank`` and ``cume_dist``, of several values, and in any order.
Different values are sorted, and bytes are joined to bytes; what stands between texts may be
computed. The sum of intervals is that of their months, days and microseconds, each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill, is_given
from journal.sql.dialects import IN_POSTGRES
from journal.sql.relations import ident
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.bytes import is_bytes, joined_value, spell_joined_bytes
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_RANKS = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)


def is_supposed_rank(node: exp.Expr) -> bool:
    """True for one of these aggregates, without its FILTER."""
    return isinstance(node, exp.WithinGroup) and isinstance(node.this, _RANKS)


def spell_supposed_rank(node: exp.WithinGroup) -> None:
    """Put counts in the place of such an aggregate and its FILTER.

    Raises UNKNOWN_FUNCTION where there are not as many values as the order has.
    """
    orders, values = node.expression.expressions, node.this.expressions
    if len(orders) != len(values):
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"{len(values)} values are given for an order by {len(orders)}",
            advice="give one value for each expression of ORDER BY",
            position=position_of(node.this),
        )
    if any(value.find(exp.Column) for value in values) and _has_grouping_sets(node):
        advice = "GROUP BY in several queries, united by UNION ALL"
        raise not_here(node.this, "a supposed row of columns that ROLLUP leaves out", advice)
    whole: exp.Expr = node
    condition: exp.Expr | None = None
    if isinstance(node.parent, exp.Filter) and node.arg_key == "this":
        whole, condition = node.parent, node.parent.expression.this
    before = _is_before(orders, values)
    whole.replace(exp.Paren(this=_counts(node.this, orders, values, before, condition)))


def _has_grouping_sets(node: exp.Expr) -> bool:
    """True where a column that is grouped by is NULL in some groups, though not in their rows."""
    select = node.find_ancestor(exp.Select)
    group = None if select is None else select.args.get("group")
    return group is not None and group.find(*_SETS) is not None


_PARTS = {
    "to_months": "year(i) * 12 + month(i)",
    "to_days": "day(i)",
    "to_microseconds": "hour(i) * 3600000000 + minute(i) * 60000000 + microsecond(i)",
}
"""Functions that make intervals, and the parts of one that they take."""


_REALS = frozenset({"FLOAT", "REAL"})


def is_own_sum(node: exp.Sum, types: ValueTypes) -> bool:
    """True for a sum of intervals, and for one that is a BIGINT or a real in PostgreSQL."""
    if types.of(node.this).kind == "INTERVAL":
        return True
    kind, above = types.of(node).kind, _with_clauses(node).parent
    if node.find_ancestor(exp.Pivot) is not None:
        return False
    if kind in _REALS:
        return not (isinstance(above, exp.Cast) and above.to.this is exp.DType.FLOAT)
    return kind == "BIGINT" and not isinstance(above, exp.Cast)


def spell_sum(node: exp.Sum, types: ValueTypes) -> None:
    """Put sums of parts in the place of a sum of intervals, and a cast in that of another."""
    if types.of(node.this).kind == "INTERVAL":
        _spell_sum_of_intervals(node)
        return
    whole = _with_clauses(node)
    place, key = whole.parent, whole.arg_key
    made: exp.Expr = exp.cast(whole.copy(), types.of(node).kind or "BIGINT", dialect="duckdb")
    if isinstance(place, exp.Select) and key == "expressions":
        made = exp.Alias(this=made, alias=ident("sum"))
    whole.replace(made)


def _with_clauses(node: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER and its OVER."""
    while isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        node = node.parent
    return node


def _spell_sum_of_intervals(node: exp.Sum) -> None:
    whole = _with_clauses(node)
    value = node.this
    made: list[exp.Expr] = []
    for make, part in _PARTS.items():
        node.set("this", fill(part, i=value))
        made.append(call(make, exp.cast(whole.copy(), "BIGINT", dialect="duckdb")))
    months, days, rest = made
    first = exp.Add(this=months, expression=days)
    whole.replace(exp.Paren(this=exp.Add(this=first, expression=rest)))


UNDEFINED = (exp.Corr, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2)
"""Aggregates that are NULL in PostgreSQL where their quotient is by zero, and NaN here."""


def spell_undefined(node: exp.Expr) -> None:
    """Put NULL in the place of what is no number, with the FILTER and the OVER."""
    whole = _with_clauses(node)
    whole.replace(fill("NULLIF(x, CAST('NaN' AS DOUBLE))", x=whole.copy()))


def sorted_values(distinct: exp.Distinct) -> exp.Expr:
    """Different values in their order, as PostgreSQL finds them; more than one as they are."""
    if len(distinct.expressions) != 1:
        return distinct.copy()
    order = exp.Ordered(this=distinct.expressions[0].copy(), nulls_first=False)
    return exp.Order(this=distinct.copy(), expressions=[order])


def spell_different(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``array_agg(DISTINCT x)``, which PostgreSQL sorts."""
    if not isinstance(node.this, exp.Distinct):
        return None
    made = node.copy()
    made.set("this", sorted_values(node.this))
    return None if made == node else made


def spell_joined(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``string_agg(DISTINCT x, s)`` likewise; without a separator, and of bytes."""
    assert isinstance(node, exp.GroupConcat)
    made = spell_different(node, types) or node.copy()
    if isinstance(node.args.get("separator"), exp.Null):
        made.set("separator", exp.Literal.string(""))
    if is_bytes(joined_value(node), types):
        if isinstance(node.parent, (exp.Filter, exp.Window)):
            advice = "write CASE WHEN .. THEN value END in it, and GROUP BY"
            raise not_here(node, "string_agg() of bytea with FILTER or OVER", advice)
        return spell_joined_bytes(made)
    return None if made == node else made


_JOINED = (
    "array_to_string(list_transform(l, LAMBDA x, i: CASE WHEN i = 1 THEN struct_extract(x, 'v')"
    " ELSE COALESCE(struct_extract(x, 's'), '') || struct_extract(x, 'v') END), '')"
)
"""Texts with what stands before each of them, but the first."""


def joins_by_column(node: exp.Expr) -> bool:
    """True for ``string_agg(t, s)`` of a separator that may be another one in each row."""
    separator = node.args.get("separator") if isinstance(node, exp.GroupConcat) else None
    return separator is not None and separator.find(exp.Column) is not None


def spell_joined_by_column(node: exp.Expr, types: ValueTypes) -> None:
    """Put a list of texts and separators, joined, in the place of one with its FILTER and OVER.

    Raises NOT_SUPPORTED for bytea, and with DISTINCT.
    """
    value = joined_value(node)
    if is_bytes(value, types) or node.find(exp.Distinct) is not None:
        what = "string_agg() of bytea, or with DISTINCT, by a separator that is computed"
        raise not_here(node, what, "take a constant")
    pair = fill("{'v': v, 's': s}", v=exp.paren(value.copy()), s=exp.paren(node.args["separator"]))
    given = node.this.copy()
    if isinstance(given, exp.Order):
        given.set("this", pair)
    listed: exp.Expr = exp.ArrayAgg(this=given if isinstance(given, exp.Order) else pair)
    whole, condition = node, exp.condition(is_given(exp.paren(value.copy())))
    if isinstance(node.parent, exp.Filter) and node.arg_key == "this":
        whole = node.parent
        condition = exp.and_(condition, exp.paren(whole.expression.this.copy()))
    listed = exp.Filter(this=listed, expression=exp.Where(this=condition))
    if isinstance(whole.parent, exp.Window) and whole.arg_key == "this":
        whole = whole.parent
        over = whole.copy()
        over.set("this", listed)
        listed = over
    made: exp.Expr = fill(_JOINED, l=listed)
    if isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions":
        made = exp.Alias(this=made, alias=ident("string_agg"))
    whole.replace(made)


def is_rough_percentile(node: exp.Expr, kind: str | None) -> bool:
    """True for a ``percentile_cont`` of NUMERIC or whole numbers, whose kind this is."""
    return (
        isinstance(node, exp.WithinGroup)
        and isinstance(node.this, exp.PercentileCont)
        and kind is not None
        and (kind.startswith("DECIMAL") or kind.endswith("INT") or kind == "INTEGER")
    )


def _counts(
    rank: exp.Expr,
    orders: Sequence[exp.Expr],
    values: Sequence[exp.Expr],
    before: exp.Expr,
    condition: exp.Expr | None,
) -> exp.Expr:
    one = exp.Literal.number(1)
    if isinstance(rank, exp.Rank):
        return exp.Add(this=one, expression=_count(exp.Star(), before, condition))
    if isinstance(rank, exp.DenseRank):
        return exp.Add(this=one, expression=_different(orders, before, condition))
    rows = _count(exp.Star(), None, condition)
    if isinstance(rank, exp.PercentRank):
        share = _share(
            _count(exp.Star(), before, condition), exp.Nullif(this=rows, expression=_zero())
        )
        return exp.Coalesce(this=share, expressions=[exp.cast(_zero(), "DOUBLE", dialect="duckdb")])
    peers = [
        exp.NullSafeEQ(this=exp.Paren(this=o.this.copy()), expression=exp.Paren(this=v.copy()))
        for o, v in zip(orders, values, strict=True)
    ]
    upto = exp.or_(before, exp.and_(*peers, copy=False), copy=False)
    found = exp.Paren(this=exp.Add(this=_count(exp.Star(), upto, condition), expression=one))
    return _share(found, exp.Paren(this=exp.Add(this=rows, expression=one.copy())))


def _different(
    orders: Sequence[exp.Expr], before: exp.Expr, condition: exp.Expr | None
) -> exp.Expr:
    """How many different rows stand before; one of NULL counts as well."""
    keys = [order.this.copy() for order in orders]
    if len(keys) > 1:
        return _count(exp.Distinct(expressions=[call("row", *keys)]), before, condition)
    values = _count(exp.Distinct(expressions=keys), before, condition)
    if not orders[0].args.get("nulls_first"):
        return values
    is_null = exp.Is(this=exp.Paren(this=keys[0].copy()), expression=exp.Null())
    nulls = _count(exp.Star(), exp.and_(before.copy(), is_null), condition)
    return exp.Add(
        this=values, expression=exp.Least(this=nulls, expressions=[exp.Literal.number(1)])
    )


def _count(what: exp.Expr, where: exp.Expr | None, condition: exp.Expr | None) -> exp.Expr:
    given = [exp.Paren(this=part.copy()) for part in (where, condition) if part is not None]
    counted = exp.Count(this=what, big_int=True)
    if not given:
        return counted
    return exp.Filter(this=counted, expression=exp.Where(this=exp.and_(*given, copy=False)))


def _share(part: exp.Expr, rows: exp.Expr) -> exp.Expr:
    return exp.Div(this=exp.cast(part, "DOUBLE", dialect="duckdb"), expression=rows)


def _zero() -> exp.Expr:
    return exp.Literal.number(0)


def _is_before(orders: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    """True of the rows that stand before the values in this order."""
    ways: list[exp.Expr] = []
    equal: list[exp.Expr] = []
    for order, given in zip(orders, values, strict=True):
        key, value = exp.Paren(this=order.this.copy()), exp.Paren(this=given.copy())
        compare = exp.GT if order.args.get("desc") else exp.LT
        null, other = (key, value) if order.args.get("nulls_first") else (value, key)
        by_null = exp.and_(
            exp.Is(this=null.copy(), expression=exp.Null()),
            exp.Not(this=exp.Is(this=other.copy(), expression=exp.Null())),
        )
        way = exp.Paren(this=exp.or_(compare(this=key.copy(), expression=value.copy()), by_null))
        ways.append(exp.and_(*(part.copy() for part in equal), way))
        equal.append(exp.NullSafeEQ(this=key, expression=value))
    return exp.or_(*ways)


MEANS = (exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


def as_native(node: exp.Expr) -> exp.Expr | None:
    """A mean, a logarithm or the like of the type that PostgreSQL gives it; None for one that is.

    Of constants only those with an exponent are of another type in DuckDB.
    """
    if IN_POSTGRES in node.meta or (
        node.is_string or (node.is_number and "e" not in node.name.lower())
    ):
        return None
    made = node.copy()
    made.meta[IN_POSTGRES] = True
    return made
