"""Functions over the elements of a list that PostgreSQL lacks, as queries of its unnested elements.

    list_transform(l, x -> f(x))    SELECT array_agg(f(x) ORDER BY place) FROM unnest(l)
    list_filter(l, x -> p(x))       the same of x, WHERE p(x)
    [f(x) FOR x IN l IF p(x)]       both
    list_sort(l, ..)                in another order

A list of lists would come apart into its innermost elements, so it ends in an error. Pure; changes
the tree that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.relations import column

_TRANSFORMS = frozenset({"array_transform", "list_apply", "array_apply"})
_SORTS = frozenset({"list_sort", "array_sort", "list_reverse_sort", "array_reverse_sort"})
_WORDS = frozenset({"ASC", "DESC", "NULLS FIRST", "NULLS LAST"})
_ELEMENT, _PLACE = "_palimpsest_element", "_palimpsest_place"
_QUERY = sqlglot.parse_one(
    "CASE WHEN NOT (list) IS NULL THEN (SELECT COALESCE(ARRAY_AGG(made), '{}')"
    " FROM UNNEST(list) WITH ORDINALITY AS named(_palimpsest_element, _palimpsest_place)"
    " WHERE COALESCE(ARRAY_NDIMS(list), 1) = 1 OR _palimpsest.fail("
    "'this store knows lists of lists only as a whole')) END",
    read="postgres",
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What becomes of a list: what is made of each element, which are left, in which order."""

    of: exp.Expr
    names: Sequence[str]
    made: exp.Expr | None = None
    kept: exp.Expr | None = None
    order: exp.Ordered | None = None


def write_out_lists(tree: exp.Expr) -> exp.Expr:
    """The tree with every such function written out, inner ones first."""
    holder = exp.Paren(this=tree)
    for number, node in enumerate(reversed(list(holder.find_all(exp.Func, exp.Array)))):
        wanted = _wanted(node)
        if wanted is not None:
            node.replace(exp.Paren(this=_query(wanted, f"_palimpsest_list_{number}")))
    prepared = holder.this
    assert isinstance(prepared, exp.Expr)
    return prepared


def _wanted(node: exp.Expr) -> _Wanted | None:
    match node:
        case exp.Transform() if isinstance(node.expression, exp.Lambda):
            return _Wanted(node.this, _names(node.expression), made=node.expression.this)
        case exp.ArrayFilter() if isinstance(node.expression, exp.Lambda):
            return _Wanted(node.this, _names(node.expression), kept=node.expression.this)
        case exp.Anonymous() if str(node.this).lower() in _TRANSFORMS:
            of, call = (*node.expressions, None, None)[:2]
            if isinstance(of, exp.Expr) and isinstance(call, exp.Lambda):
                return _Wanted(of, _names(call), made=call.this)
        case exp.Array(expressions=[exp.Comprehension() as each]):
            given = [each.expression, each.args.get("position")]
            names = [str(n.name) for n in given if isinstance(n, exp.Expr)]
            return _Wanted(each.args["iterator"], names, each.this, each.args.get("condition"))
        case exp.Anonymous() if str(node.this).lower() in _SORTS and node.expressions:
            of, *how = node.expressions
            return _Wanted(
                of, (), order=_order(how, is_reverse="reverse" in str(node.this).lower())
            )
    return None


def _names(call: exp.Lambda) -> list[str]:
    names = [str(parameter.name) for parameter in call.expressions]
    if len(names) <= 2:
        return names
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        "this store has no lambda of more than an element and its place",
        advice="unnest the array, and aggregate it again",
    )


def _order(how: Sequence[exp.Expr], *, is_reverse: bool) -> exp.Ordered:
    words = [w.name.upper() for w in how if isinstance(w, exp.Literal) and w.is_string]
    if len(words) != len(how) or not set(words) <= _WORDS:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this store sorts lists in an order that the statement gives",
            advice="write 'ASC' or 'DESC', and 'NULLS FIRST' or 'NULLS LAST'",
        )
    return exp.Ordered(
        this=column(_ELEMENT),
        desc=("DESC" in words) != is_reverse,
        nulls_first="NULLS FIRST" in words,
    )


def _query(wanted: _Wanted, name: str) -> exp.Expr:
    found = _QUERY.copy()
    inside = dict(zip(wanted.names, (column(_ELEMENT, name), column(_PLACE, name)), strict=False))
    made = column(_ELEMENT, name) if wanted.made is None else _bound(wanted.made, inside)
    order = wanted.order or exp.Ordered(this=column(_PLACE, name), nulls_first=False)
    ordered = exp.Order(this=made, expressions=[order])
    for place in list(found.find_all(exp.Column)):
        if place.name == "list":
            place.replace(exp.Paren(this=wanted.of.copy()))
        elif place.name == "made":
            place.replace(ordered)
    select = found.find(exp.Select)
    assert select is not None
    for alias in select.find_all(exp.TableAlias):
        if alias.name == "named":
            alias.set("this", exp.to_identifier(name))
    if wanted.kept is not None:
        both = exp.and_(select.args["where"].this, _bound(wanted.kept, inside), copy=False)
        select.set("where", exp.Where(this=both))
    return found


def _bound(body: exp.Expr, inside: Mapping[str, exp.Column]) -> exp.Expr:
    """A lambda's body over the columns of the unnested list; inner lambdas are written out."""
    holder = exp.Paren(this=body.copy())
    for node in list(holder.find_all(exp.Identifier, exp.Column)):
        bare = not node.table if isinstance(node, exp.Column) else _stands_alone(node)
        if bare and node.name in inside:
            node.replace(inside[node.name].copy())
    return holder


def _stands_alone(name: exp.Expr) -> bool:
    """True for a lambda's parameter, which sqlglot leaves as a bare name."""
    parent = name.parent
    if isinstance(parent, exp.Dot):
        return name.arg_key == "this"
    return not isinstance(parent, exp.Column | exp.Alias | exp.TableAlias | exp.Table | exp.Star)
