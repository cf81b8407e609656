"""``LIMIT p %`` as a number of rows that the query itself counts.

DuckDB takes ``floor(rows * p / 100)`` of the rows before OFFSET, all of them where p is NULL, and
fails where p is not between 0 and 100. Other stores have no such LIMIT, and in DuckDB's own text a
share that is not written as a number has another form. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import Nodes, copy_tree
from journal.sql.relations import column, ident

_ROWS = "_palimpsest_limited"
_COUNTED = "_palimpsest_counted"
_NUMBER, _SHARE = "n", "p"


def is_share(limit: exp.Expr | None) -> bool:
    """True for the LIMIT of a query that takes a share of its rows."""
    options = limit.args.get("limit_options") if isinstance(limit, exp.Limit) else None
    return isinstance(options, exp.LimitOptions) and bool(options.args.get("percent"))


def spell_shares(ast: exp.Expr, nodes: Nodes | None) -> exp.Expr:
    """The statement with its shares as DuckDB takes them, ``(a + b) %``; a copy if it has any."""
    limits = ast.find_all(exp.Limit) if nodes is None else nodes.all(exp.Limit)
    if not any(map(_is_computed, limits)):
        return ast
    made = copy_tree(ast)
    for limit in filter(_is_computed, list(made.find_all(exp.Limit))):
        share = exp.Mod(this=exp.paren(limit.expression), expression=exp.Var(this=""))
        limit.replace(exp.Limit(expression=share))
    return made


def _is_computed(limit: exp.Limit) -> bool:
    return is_share(limit) and not isinstance(limit.expression, exp.Literal)


def count_shares(ast: exp.Expr) -> exp.Expr:
    """The statement, which is changed, with a counted LIMIT in the place of each share."""
    for limit in list(ast.find_all(exp.Limit)):
        query = limit.parent
        if not is_share(limit) or not isinstance(query, exp.Query):
            continue
        counted = _counted(query, limit)
        ast = counted if query is ast else ast
    return ast


def _counted(query: exp.Query, limit: exp.Limit) -> exp.Select:
    """A query that keeps the rows of another one as a CTE, and as many of them as its LIMIT says.

    The CTE is materialized: its rows stay in the order of the query, and are computed once.
    """
    around = exp.select("*").from_(exp.to_table(_ROWS))
    if query.parent is not None:
        query.replace(around)
    before = query.args.get("with_")
    for clause in ("with_", "limit"):
        query.set(clause, None)
    offset = query.args.get("offset")
    if offset is not None:
        query.set("offset", None)
        around.set("offset", offset)
    rows = exp.CTE(this=query, alias=exp.TableAlias(this=ident(_ROWS)), materialized=True)
    around.set("with_", before or exp.With(expressions=[]))
    around.args["with_"].append("expressions", rows)
    number = exp.Subquery(this=_number_of(limit.expression))
    around.set("limit", exp.Limit(expression=number))
    return around


def _number_of(share: exp.Expr) -> exp.Select:
    """The number of rows of a share; -1, which no store takes, where it is out of range."""
    counted = exp.select(
        exp.alias_(exp.Count(this=exp.Star()), ident(_NUMBER)),
        exp.alias_(exp.cast(share, "DOUBLE"), ident(_SHARE)),
    ).from_(exp.to_table(_ROWS))
    number, given = column(_NUMBER, _COUNTED), column(_SHARE, _COUNTED)
    part = exp.Div(this=given.copy(), expression=exp.Literal.number(100))
    taken = exp.Floor(this=exp.Mul(this=part, expression=number.copy()))
    found = (
        exp.case()
        .when(exp.Is(this=given.copy(), expression=exp.Null()), number)
        .when(
            exp.Between(this=given, low=exp.Literal.number(0), high=exp.Literal.number(100)),
            exp.cast(taken, "BIGINT"),
        )
        .else_(exp.Neg(this=exp.Literal.number(1)))
    )
    source = exp.Subquery(this=counted, alias=exp.TableAlias(this=ident(_COUNTED)))
    return exp.select(found).from_(source)
