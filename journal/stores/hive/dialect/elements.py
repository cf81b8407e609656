"""Elements of a list in Spark's terms: taken, made anew, left out, sorted.

    list_transform(l, lambda x, i: f(x, i))  ->  transform(l, (x, i) -> f(x, i + 1))
    list_filter(l, lambda x: p(x))           ->  filter(l, x -> CAST(p(x) AS BOOLEAN))
    [f(x) FOR x IN l IF p(x)]                ->  both
    l[i]                                     ->  CASE WHEN i <> 0 THEN try_element_at(l, i) END

Spark counts elements from 0, the canonical dialect from 1. Pure; what cannot be said is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused
from journal.sql.lowering.list_calls import list_call, list_order, parameter_uses

_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()
_KEPT, _MADE, _EACH = "k", "m", "palimpsest_each"


def transformed(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``list_transform``, ``list_filter`` and comprehensions.

    The place that a comprehension may name is one in the whole list, so what it leaves out goes
    last.
    """
    found = list_call(node)
    if found is None:
        return None
    of, names, made, kept = found.of, found.names, found.made, found.kept
    kept = None if kept is None else exp.cast(kept.copy(), "BOOLEAN")
    if made is None:
        assert kept is not None
        return _lambda_call("filter", of, names, kept)
    if kept is None:
        return _lambda_call("transform", of, names, made)
    rows = _lambda_call("transform", of, names, call("named_struct", _KEPT, kept, _MADE, made))
    return call("transform", call("filter", rows, _member(_KEPT)), _member(_MADE))


def settle_places(holder: exp.Expr) -> None:
    """Have every place in a list count from 1, before anything inside it is changed.

    The parser counts from 0 where it knows that a place is a number, and from 1 elsewhere.
    """
    for node in holder.find_all(exp.Bracket):
        if not isinstance(node.expressions[0], exp.Slice):
            node.set("expressions", _GENERATOR.bracket_offset_expressions(node))
            node.set("offset", 1)


def element(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``l[i]`` and ``list_extract``; None for members of structs and maps.

    The canonical dialect counts from 1, from the end below 0, and has NULL where nothing is.
    """
    if isinstance(node, exp.Bracket):
        of, place = node.this, node.expressions[0]
    elif len(node.expressions) == 2:
        of, place = node.expressions
    else:
        return None
    if place.is_string:
        return None
    found = call("try_element_at", of, exp.cast(place.copy(), "INT"))
    return fill("CASE WHEN i <> 0 THEN found END", i=place, found=found)


def no_lambda(name: str) -> Change:
    """Refuses a function with a lambda that Spark has otherwise."""
    return refused("Hive", f"{name}() over lists", "unnest the list, and aggregate its elements")


def sorted_list(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``list_sort`` and ``list_reverse_sort``: Spark's sorts have other orders."""
    found = list_order(node)
    if found is None:
        return None
    if found.descends != found.nulls_first:
        return call("sort_array", found.of, exp.Boolean(this=found.nulls_first))
    rising = call("array_sort", found.of)
    return call("reverse", rising) if found.descends else rising


def _lambda_call(name: str, of: exp.Expr, names: Sequence[str], body: exp.Expr) -> exp.Expr:
    """A call of Spark's with a lambda; ``names`` are of an element, and perhaps of its place."""
    holder = exp.Paren(this=body.copy())
    if len(names) == 2:
        for use in list(parameter_uses(holder, names[1])):
            place = exp.cast(exp.to_identifier(use.name, quoted=True), "BIGINT")
            use.replace(fill("(place + 1)", place=place))
    shown = [exp.to_identifier(name, quoted=True) for name in names]
    return call(name, of, exp.Lambda(this=holder.this, expressions=shown))


def _member(name: str) -> exp.Lambda:
    of = exp.Dot(this=exp.to_identifier(_EACH), expression=exp.to_identifier(name))
    return exp.Lambda(this=of, expressions=[exp.to_identifier(_EACH)])
