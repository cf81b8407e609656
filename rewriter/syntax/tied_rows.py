"""``FETCH FIRST n ROWS WITH TIES`` as a condition on the rank of a row, which every store knows.

Few stores have the clause, and sqlglot leaves its last words out where one has not. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.name_resolution import position_of

_SOURCE = "_palimpsest_ranked"


def spell_out_limits(ast: exp.Expr) -> exp.Expr:
    """The statement with a rank in the place of each WITH TIES.

    Raises SYNTAX for WITH TIES without an ORDER BY, and NOT_SUPPORTED for PERCENT behind FETCH,
    and for WITH TIES behind a share and behind places among stars.
    """
    for limit in list(ast.find_all(exp.Fetch, exp.Limit)):
        options = limit.args.get("limit_options")
        query = limit.parent
        if not isinstance(options, exp.LimitOptions) or not isinstance(query, exp.Query):
            continue
        is_fetch = isinstance(limit, exp.Fetch)
        if options.args.get("percent") and (is_fetch or options.args.get("with_ties")):
            what = "PERCENT behind FETCH" if is_fetch else "WITH TIES behind a share of the rows"
            raise _refusal(what, "write LIMIT 10%", query)
        if options.args.get("with_ties"):
            ranked = _ranked(query, limit)
            ast = ranked if query is ast else ast
    return ast


def _ranked(query: exp.Query, limit: exp.Expr) -> exp.Query:
    order = query.args.get("order")
    if order is None:
        raise PalimpsestError(
            Code.SYNTAX,
            "WITH TIES cannot be specified without ORDER BY",
            advice="say by ORDER BY which rows are alike",
            position=position_of(query),
        )
    counted = limit.args.get("count") or limit.args.get("expression") or exp.Literal.number(1)
    offset = query.args.get("offset")
    last = counted.copy()
    if offset is not None:
        last = exp.Paren(
            this=exp.Add(this=exp.paren(last), expression=exp.paren(offset.expression))
        )
    query.set("limit", None)
    is_plain = isinstance(query, exp.Select) and not any(
        query.args.get(clause) for clause in ("distinct", "qualify")
    )
    if not is_plain:
        query = _around(query, order, offset)
    rank = exp.Window(this=exp.Anonymous(this="rank"), order=_in_window(order, query))
    query.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=last)))
    return query


def _around(query: exp.Query, order: exp.Order, offset: exp.Offset | None) -> exp.Select:
    """A query of all columns of a query, in whose place it stands."""
    query.set("order", None)
    query.set("offset", None)
    around = exp.select("*")
    if query.parent is not None:
        query.replace(around)
    source = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(_SOURCE)))
    around.set("from_", exp.From(this=source))
    around.set("order", order)
    around.set("offset", offset)
    return around


def _in_window(order: exp.Order, query: exp.Query) -> exp.Order:
    """The order with the expressions that its names of outputs stand for."""
    outputs = {fold(e.alias): e.this for e in query.selects if isinstance(e, exp.Alias)}
    copied = order.copy()
    for item in copied.expressions:
        value = item.this if isinstance(item, exp.Ordered) else item
        if isinstance(value, exp.Literal):
            value.replace(_output_at(value, query))
            continue
        named = outputs.get(fold(value.name)) if isinstance(value, exp.Column) else None
        if named is not None and not value.table:
            value.replace(named.copy())
    return copied


def _output_at(place: exp.Literal, query: exp.Query) -> exp.Expr:
    """The expression of the output that a number in ORDER BY stands for."""
    outputs = query.selects
    number = int(place.name) if place.is_int else 0
    if any(output.is_star for output in outputs) or not 0 < number <= len(outputs):
        raise _refusal("WITH TIES behind a place", "name the column in ORDER BY", query)
    return outputs[number - 1].unalias().copy()


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported",
        advice=advice,
        position=position_of(node),
    )
