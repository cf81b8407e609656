"""Lists that an aggregate makes: Spark's leave nulls out, know no order, and are empty, not null.

    list(x ORDER BY y)  =  transform(array_sort(collect_list(struct(.., x)), ..), s -> s.v)

Pure; what it is given is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

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
    aggregate = exp.Anonymous(this="collect_list", expressions=[made])
    if inner is whole:
        whole = aggregate
    else:
        inner.replace(aggregate)
    rows: exp.Expr = whole.copy()
    if keys:
        rows = exp.Anonymous(this="array_sort", expressions=[rows, _comparison(keys)])
    values = exp.Lambda(this=_of(_EACH, _VALUE), expressions=[exp.to_identifier(_EACH)])
    found = exp.Anonymous(this="transform", expressions=[rows, values])
    some = exp.GT(
        this=exp.Anonymous(this="size", expressions=[whole]), expression=exp.Literal.number(0)
    )
    return exp.Case().when(some, found)


def _innermost(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Filter | exp.Window):
        node = node.this
    return node


def _row(value: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr:
    parts: list[exp.Expr] = []
    for place, key in enumerate(keys):
        empty = exp.Paren(this=exp.Is(this=key.this.copy(), expression=exp.Null()))
        parts += [exp.Literal.string(f"n{place}"), empty]
        parts += [exp.Literal.string(f"k{place}"), key.this.copy()]
    parts += [exp.Literal.string(_VALUE), value.copy()]
    return exp.Anonymous(this="named_struct", expressions=parts)


def _comparison(keys: Sequence[exp.Expr]) -> exp.Lambda:
    """Which of two rows comes first, key by key."""
    found = exp.Case()
    for place, key in enumerate(keys):
        nulls_first, descends = bool(key.args.get("nulls_first")), bool(key.args.get("desc"))
        for name, is_reversed in ((f"n{place}", nulls_first), (f"k{place}", descends)):
            before, after = (-1, 1) if not is_reversed else (1, -1)
            left, right = _of(_LEFT, name), _of(_RIGHT, name)
            found = found.when(exp.LT(this=left, expression=right), _number(before))
            found = found.when(exp.GT(this=left.copy(), expression=right.copy()), _number(after))
    names = [exp.to_identifier(_LEFT), exp.to_identifier(_RIGHT)]
    return exp.Lambda(this=found.else_(_number(0)), expressions=names)


def _of(row: str, name: str) -> exp.Expr:
    return exp.Dot(this=exp.to_identifier(row), expression=exp.to_identifier(name))


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))
