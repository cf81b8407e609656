"""Elements of a list in Spark's terms: taken, made anew, left out, sorted.

    list_transform(l, lambda x, i: f(x, i))  ->  transform(l, (x, i) -> f(x, i + 1))
    list_filter(l, lambda x: p(x))           ->  filter(l, x -> CAST(p(x) AS BOOLEAN))
    [f(x) FOR x IN l IF p(x)]                ->  both
    l[i]                                     ->  CASE WHEN i <> 0 THEN try_element_at(l, i) END

Spark counts elements from 0, the canonical dialect from 1. Pure; what cannot be said is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from journal.model.schema import fold
from journal.sql.calls import Change, refused

TRANSFORMS = frozenset({"list_apply", "array_apply", "array_transform"})
"""Other names of ``list_transform``, which the parser does not know."""
_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()
_FILTER, _TRANSFORM = "filter", "transform"
_KEPT, _MADE, _EACH = "k", "m", "palimpsest_each"


def transformed(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``list_transform``, by any of its names."""
    return _with_lambda(node, _TRANSFORM)


def filtered(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``list_filter``."""
    return _with_lambda(node, _FILTER)


def comprehended(node: exp.Expr) -> exp.Expr | None:
    """What stands for a comprehension; None for other lists.

    The place that it may name is one in the whole list, so what is left out goes last.
    """
    each = node.expressions[0] if node.expressions else None
    if not isinstance(each, exp.Comprehension):
        return None
    names = [n for n in (each.expression, each.args.get("position")) if isinstance(n, exp.Expr)]
    names = [n.this if isinstance(n, exp.Column) else n for n in names]
    of, condition = each.args["iterator"], each.args.get("condition")
    if condition is None:
        return _over(_TRANSFORM, of, names, each.this)
    both = [exp.Literal.string(_KEPT), exp.cast(condition.copy(), "BOOLEAN")]
    both += [exp.Literal.string(_MADE), each.this.copy()]
    rows = _over(_TRANSFORM, of, names, _call("named_struct", *both))
    kept = _call(_FILTER, rows, _member(_KEPT))
    return _call(_TRANSFORM, kept, _member(_MADE))


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
    found = _call("try_element_at", of.copy(), exp.cast(place.copy(), "INT"))
    there = exp.NEQ(this=place.copy(), expression=exp.Literal.number(0))
    return exp.Case().when(there, found)


def no_lambda(name: str) -> Change:
    """Refuses a function with a lambda that Spark has otherwise."""
    return refused("Hive", f"{name}() over lists", "unnest the list, and aggregate its elements")


def sorted_list(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``list_sort`` and ``list_reverse_sort``: Spark's sorts have other orders."""
    of, *how = node.expressions or [None]
    words = [w.name.upper() for w in how if isinstance(w, exp.Literal) and w.is_string]
    is_reverse = "reverse" in str(node.this).lower()
    order = [] if is_reverse else words[:1]
    nulls = words[len(order) :]
    known = set(order) <= {"ASC", "DESC"} and set(nulls) <= {"NULLS FIRST", "NULLS LAST"}
    if of is None or len(words) != len(how) or len(nulls) > 1 or not known:
        return refused(
            "Hive",
            "lists sorted in an order that the statement does not give",
            "write 'ASC' or 'DESC', and then 'NULLS FIRST' or 'NULLS LAST'",
        )(node)
    descends = is_reverse or order == ["DESC"]
    nulls_first = nulls == ["NULLS FIRST"]
    if descends == nulls_first:
        found = _call("array_sort", of.copy())
        return _call("reverse", found) if descends else found
    return _call("sort_array", of.copy(), exp.Boolean(this=nulls_first))


def _with_lambda(node: exp.Expr, name: str) -> exp.Expr | None:
    given = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
    of, call = (*given, None, None)[:2]
    if not isinstance(of, exp.Expr) or not isinstance(call, exp.Lambda):
        return None
    if len(call.expressions) > 2:
        return no_lambda(f"list_{name} with a lambda of more than an element and its place")(node)
    body = exp.cast(call.this.copy(), "BOOLEAN") if name == _FILTER else call.this
    return _over(name, of, call.expressions, body)


def _over(name: str, of: exp.Expr, names: list[exp.Expr], body: exp.Expr) -> exp.Expr:
    """A call of Spark's with a lambda; ``names`` are of an element, and perhaps of its place."""
    holder = exp.Paren(this=body.copy())
    if len(names) == 2:
        for use in list(_uses(holder, names[1].name)):
            place = exp.cast(exp.to_identifier(use.name, quoted=True), "BIGINT")
            use.replace(exp.paren(exp.Add(this=place, expression=exp.Literal.number(1))))
    shown = [exp.to_identifier(n.name, quoted=True) for n in names]
    return _call(name, of.copy(), exp.Lambda(this=holder.this, expressions=shown))


def _uses(body: exp.Expr, name: str) -> Iterator[exp.Expr]:
    """Where a lambda's body has its parameter; one within may have another of that name."""

    def hides(node: exp.Expr) -> bool:
        return isinstance(node, exp.Lambda) and any(
            fold(n.name) == fold(name) for n in node.expressions
        )

    for node in body.walk(prune=hides):
        if fold(node.name) != fold(name) or hides(node):
            continue
        if isinstance(node, exp.Column):
            if not node.table:
                yield node
        elif isinstance(node, exp.Identifier) and _stands_alone(node):
            yield node


def _stands_alone(name: exp.Identifier) -> bool:
    """True for a parameter, which the parser leaves as a bare name."""
    above = name.parent
    if isinstance(above, exp.Dot):
        return name.arg_key == "this"
    return not isinstance(
        above, exp.Column | exp.Alias | exp.TableAlias | exp.Table | exp.Star | exp.Lambda
    )


def _member(name: str) -> exp.Lambda:
    of = exp.Dot(this=exp.to_identifier(_EACH), expression=exp.to_identifier(name))
    return exp.Lambda(this=of, expressions=[exp.to_identifier(_EACH)])


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
