"""Lists that an aggregate makes: Spark's leave nulls out, know no order, and are empty, not null.

    list(x ORDER BY y)  =  transform(array_sort(collect_list(struct(.., x)), ..), s -> s.v)
    string_agg(DISTINCT x, ',')  =  array_join(sort_array(array_distinct(collect_list(x))), ',')

Pure; what it is given is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import Part, call, fill, is_null

_VALUE = "v"
_LEFT, _RIGHT, _EACH = "l", "r", "s"


def collected(node: exp.Expr) -> exp.Expr | None:
    """What stands for an aggregate that makes a list, with its FILTER and OVER; else None."""
    if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        return None
    if not isinstance(_innermost(node), exp.ArrayAgg):
        return None
    whole = node.copy()
    inner = _innermost(whole)
    of, keys = inner.this, []
    if isinstance(of, exp.Order):
        of, keys = of.this, of.expressions
    distinct = isinstance(of, exp.Distinct)
    value = of.expressions[0] if distinct else of
    row = _row(value, keys)
    made = exp.Distinct(expressions=[row]) if distinct else row
    aggregate = call("collect_list", made)
    if inner is whole:
        whole = aggregate
    else:
        inner.replace(aggregate)
    rows: exp.Expr = whole.copy()
    if keys:
        rows = call("array_sort", rows, _comparison(keys))
    values = exp.Lambda(this=_of(_EACH, _VALUE), expressions=[exp.to_identifier(_EACH)])
    made = call("transform", rows, values)
    return fill("CASE WHEN size > 0 THEN made END", size=call("size", whole), made=made)


def joined_distinct(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``string_agg(DISTINCT ..)``, with its FILTER; None for others.

    Spark fails to plan its own beside other aggregates of distinct values, and under a FILTER.
    """
    if isinstance(node.parent, exp.Filter) and node.arg_key == "this":
        return None
    whole = node.copy()
    inner = _innermost(whole)
    of, keys = inner.this, []
    if isinstance(inner, exp.GroupConcat) and isinstance(of, exp.Order):
        of, keys = of.this, of.expressions
    is_joined = isinstance(inner, exp.GroupConcat) and isinstance(of, exp.Distinct)
    if not is_joined or len(of.expressions) != 1 or len(keys) > 1:
        return None
    (value,) = of.expressions
    if any(key.this != value for key in keys):
        return None
    listed = call("collect_list", value)
    if inner is whole:
        whole = listed
    else:
        inner.replace(listed)
    rises = not any(key.args.get("desc") for key in keys)
    rows = call("sort_array", call("array_distinct", whole.copy()), exp.Boolean(this=rises))
    separator = inner.args.get("separator") or exp.Literal.string(",")
    made = call("array_join", rows, separator)
    return fill("CASE WHEN size > 0 THEN made END", size=call("size", whole), made=made)


def _innermost(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Filter | exp.Window):
        node = node.this
    return node


def _row(value: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr:
    parts: list[Part] = []
    for place, key in enumerate(keys):
        parts += [f"n{place}", exp.Paren(this=is_null(key.this)), f"k{place}", key.this]
    return call("named_struct", *parts, _VALUE, value)


def _comparison(keys: Sequence[exp.Expr]) -> exp.Lambda:
    """Which of two rows comes first, key by key."""
    found = exp.Case()
    for place, key in enumerate(keys):
        nulls_first, descends = bool(key.args.get("nulls_first")), bool(key.args.get("desc"))
        for name, is_reversed in ((f"n{place}", nulls_first), (f"k{place}", descends)):
            before, after = (-1, 1) if not is_reversed else (1, -1)
            left, right = _of(_LEFT, name), _of(_RIGHT, name)
            found = found.when(exp.LT(this=left, expression=right), exp.convert(before))
            found = found.when(left > right, exp.convert(after))
    names = [exp.to_identifier(_LEFT), exp.to_identifier(_RIGHT)]
    return exp.Lambda(this=found.else_(exp.convert(0)), expressions=names)


def _of(row: str, name: str) -> exp.Dot:
    return exp.Dot(this=exp.to_identifier(row), expression=exp.to_identifier(name))
