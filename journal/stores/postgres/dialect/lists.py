"""Functions over the elements of a list that PostgreSQL lacks, as queries of its unnested elements.

    list_transform(l, x -> f(x))    SELECT array_agg(f(x) ORDER BY place) FROM unnest(l)
    list_filter(l, x -> p(x))       the same of x, WHERE p(x)
    [f(x) FOR x IN l IF p(x)]       both
    list_sort(l, ..)                in another order

A list of lists would come apart into its innermost elements, so it ends in an error. Pure; changes
the tree that it is given.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from journal.sql.lowering.list_calls import list_call, list_order, parameter_uses
from journal.sql.relations import column

_ELEMENT, _PLACE = "_palimpsest_element", "_palimpsest_place"
_QUERY = (
    "CASE WHEN NOT (list) IS NULL THEN (SELECT COALESCE(ARRAY_AGG(made), '{}')"
    " FROM UNNEST(list) WITH ORDINALITY AS named(_palimpsest_element, _palimpsest_place)"
    " WHERE COALESCE(ARRAY_NDIMS(list), 1) = 1 OR _palimpsest.fail("
    "'this store knows lists of lists only as a whole')) END"
)


def write_out_lists(tree: exp.Expr) -> exp.Expr:
    """The tree with every such function written out, inner ones first."""
    holder = exp.Paren(this=tree)
    for number, node in enumerate(reversed(list(holder.find_all(exp.Func, exp.Array)))):
        made = _written_out(node, f"_palimpsest_list_{number}")
        if made is not None:
            node.replace(exp.Paren(this=made))
    prepared = holder.this
    assert isinstance(prepared, exp.Expr)
    return prepared


def _written_out(node: exp.Expr, name: str) -> exp.Expr | None:
    """What stands for a node; ``name`` is that of the unnested list."""
    call, sorts = list_call(node), list_order(node)
    element, place = column(_ELEMENT, name), column(_PLACE, name)
    if sorts is not None:
        order = exp.Ordered(
            this=column(_ELEMENT), desc=sorts.descends, nulls_first=sorts.nulls_first
        )
        return _query(sorts.of, exp.Order(this=element, expressions=[order]), None, name)
    if call is None:
        return None
    parts = dict(zip(call.names, (element, place), strict=False))
    made = element if call.made is None else _with_parts(call.made, parts)
    order = exp.Ordered(this=place.copy(), nulls_first=False)
    kept = None if call.kept is None else _with_parts(call.kept, parts)
    return _query(call.of, exp.Order(this=made, expressions=[order]), kept, name)


def _query(of: exp.Expr, made: exp.Expr, kept: exp.Expr | None, name: str) -> exp.Expr:
    found = fill(_QUERY, "postgres", list=exp.Paren(this=of.copy()), made=made)
    select = found.find(exp.Select)
    assert select is not None
    for alias in select.find_all(exp.TableAlias):
        if alias.name == "named":
            alias.set("this", exp.to_identifier(name))
    if kept is not None:
        both = exp.and_(select.args["where"].this, kept, copy=False)
        select.set("where", exp.Where(this=both))
    return found


def _with_parts(body: exp.Expr, parts: dict[str, exp.Column]) -> exp.Expr:
    """A lambda's body over the columns of the unnested list; inner lambdas are written out."""
    holder = exp.Paren(this=body.copy())
    for name, part in parts.items():
        for use in list(parameter_uses(holder, name)):
            use.replace(part.copy())
    return holder
