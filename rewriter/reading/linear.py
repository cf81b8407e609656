"""Linear aggregates without a join: aggregate the base as it is, and the changes with a sign.

SUM, COUNT and AVG over exact types are linear in the rows: what a closing row takes away can be
subtracted. So ``SELECT g, SUM(x) .. GROUP BY g`` over a changed table is the plain aggregate of its
base, united with that of the few changes (open rows +1, closing rows -1), combined again by
``g``. What is not linear (``linear_queries``) takes the general shape. The idea is that of
incremental view maintenance with multiplicities (Gupta, Mumick, Subrahmanian 1993). Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.relations import Reader, business_outputs, column, ident
from journal.sql.sql import named
from rewriter.context import RewriteContext
from rewriter.name_resolution import INTERNAL
from rewriter.reading.linear_queries import LinearQuery, Partial, linear_query
from rewriter.reading.result_names import result_name
from rewriter.reading.row_security import RowSecurity

_TARGET = "split"
SIGN, _ROWS, _GROUP = f"{INTERNAL}sign", f"{INTERNAL}rows", f"{INTERNAL}g"


def split_aggregates(nodes: Nodes, context: RewriteContext) -> list[Table]:
    """Split the aggregate queries that can be, in place; the tables they were split on."""
    tables = []
    for select in nodes.all(exp.Select) if nodes.all(exp.AggFunc) else []:
        if select.parent is None or select.find(exp.AggFunc) is None:
            continue
        found = split_aggregate(select, context)
        if found is not None:
            select.replace(found[0])
            tables.append(found[1])
    return tables


def split_aggregate(select: exp.Select, context: RewriteContext) -> tuple[exp.Select, Table] | None:
    """The split form of an aggregate query and the table it was split on, or None.

    The tables of the result that were not split on are still logical.
    """
    query = linear_query(select, context)
    outer = None if query is None else _outer_query(query)
    if query is None or outer is None:
        return None
    table = query.table
    if RowSecurity.of(table, context) is not None:
        return None
    reader = Reader(table, context.scan_info(table.id).tiers)
    outputs = business_outputs(table.columns)
    condition = select.args.get("where")
    if query.joins or (condition is not None and condition.find(exp.Query) is not None):
        # Joined twice, the other tables would be read and hashed twice; those of subqueries, too.
        both: exp.Query = _partial_query(query, reader.signed_rows(outputs, SIGN), signed=True)
    else:
        base = _partial_query(query, reader.base(outputs), signed=False)
        changes = _partial_query(query, reader.signed_changes(outputs, SIGN), signed=True)
        both = exp.union(base, changes, distinct=False, copy=False)
    outer.set("from_", exp.From(this=both.subquery(ident("p"), copy=False)))
    return outer, table


def _partial_query(query: LinearQuery, rows: exp.Query, *, signed: bool) -> exp.Select:
    """The partial aggregate over one side of the split table."""
    alias = exp.TableAlias(this=ident(query.node.alias_or_name))
    query.node.meta[_TARGET] = True
    part = query.select.copy()
    del query.node.meta[_TARGET]
    for arg in ("having", "order", "limit", "offset", "with_", "distinct"):
        part.set(arg, None)
    for node in list(part.find_all(exp.Table)):
        if node.meta.get(_TARGET):
            node.replace(exp.Subquery(this=rows, alias=alias))
    outputs: list[exp.Expr] = [named(g.copy(), f"{_GROUP}{i}") for i, g in enumerate(query.groups)]
    outputs += [exp.alias_(value, name) for name, value in _partials(query)]
    groups = [g.copy() for g in query.groups]
    if signed:
        outputs.append(column(SIGN))
        groups.append(column(SIGN))
    part.set("expressions", outputs)
    part.set("group", exp.Group(expressions=groups) if groups else None)
    return _signed_partials(query, part) if signed else part


def _signed_partials(query: LinearQuery, part: exp.Select) -> exp.Select:
    """The partial aggregates of each sign, those of rows that ended made negative."""
    ended = exp.LT(this=column(SIGN, "w"), expression=exp.Literal.number(0))
    outputs: list[exp.Expr] = [column(f"{_GROUP}{i}", "w") for i in range(len(query.groups))]
    for name, _ in _partials(query):
        value = column(name, "w")
        negative = exp.If(this=ended.copy(), true=exp.Neg(this=value.copy()))
        outputs.append(exp.alias_(exp.Case(ifs=[negative], default=value), name))
    return exp.select(*outputs).from_(part.subquery("w"))


def _partials(query: LinearQuery) -> list[tuple[str, exp.Expr]]:
    """Names and values of the columns of a partial aggregate, after those of its groups."""
    found: list[tuple[str, exp.Expr]] = []
    for partial in query.partials.values():
        argument = partial.function.this
        count = _with_filter(exp.Count(this=argument.copy()), partial.condition)
        found.append((f"{INTERNAL}n{partial.index}", count))
        if not isinstance(partial.function, exp.Count):
            total = _with_filter(exp.Sum(this=argument.copy()), partial.condition)
            found.append((f"{INTERNAL}s{partial.index}", total))
    return [*found, (_ROWS, exp.Count(this=exp.Star()))]


def _with_filter(function: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    if condition is None:
        return function
    return exp.Filter(this=function, expression=exp.Where(this=condition.copy()))


def _outer_query(query: LinearQuery) -> exp.Select | None:
    """The query over the united partial aggregates, without its FROM."""
    outer = exp.Select()
    selects: list[exp.Expr] = []
    for item in query.select.selects:
        name = item.alias if isinstance(item, exp.Alias) else result_name(item)
        if name is None:
            return None
        value = _combine_partials(item.unalias(), query)
        if value is None:
            return None
        selects.append(exp.alias_(value, ident(name)))
    outer.set("expressions", selects)
    having: exp.Expr | None = None
    if query.groups:
        keys = [column(f"{_GROUP}{i}", "p") for i in range(len(query.groups))]
        outer.set("group", exp.Group(expressions=keys))
        having = exp.GT(this=_total(_ROWS), expression=exp.Literal.number(0))
    given = query.select.args.get("having")
    if given is not None:
        kept = _combine_partials(given.this, query)
        if kept is None:
            return None
        having = kept if having is None else exp.and_(having, exp.paren(kept))
    if having is not None:
        outer.set("having", exp.Having(this=having))
    order = query.select.args.get("order")
    if order is not None:
        aliases = {fold(s.alias) for s in selects if isinstance(s, exp.Alias)}
        rewritten = _combine_partials(order, query, aliases)
        if rewritten is None:
            return None
        outer.set("order", rewritten)
    for arg in ("limit", "offset", "with_"):
        if query.select.args.get(arg) is not None:
            outer.set(arg, query.select.args[arg].copy())
    return outer


def _combine_partials(
    node: exp.Expr, query: LinearQuery, aliases: set[str] | frozenset[str] = frozenset()
) -> exp.Expr | None:
    """``node`` with aggregates and group expressions replaced; None if a column is left over."""
    groups = {g.sql(): i for i, g in enumerate(query.groups)}
    left_over = False

    def replace(part: exp.Expr) -> exp.Expr:
        nonlocal left_over
        partial = (
            query.partials.get(part.sql()) if isinstance(part, (exp.AggFunc, exp.Filter)) else None
        )
        if partial is not None:
            return _final_value(partial, query)
        if isinstance(part, exp.Column) and not part.table and fold(part.name) in aliases:
            return part
        if isinstance(part, exp.Condition) and part.sql() in groups:
            return column(f"{_GROUP}{groups[part.sql()]}", "p")
        if isinstance(part, exp.Column):
            left_over = True
        return part

    result = node.copy().transform(replace, copy=False)
    return None if left_over else result


def _total(name: str) -> exp.Sum:
    return exp.Sum(this=column(name, "p"))


def _final_value(partial: Partial, query: LinearQuery) -> exp.Expr:
    count = _total(f"{INTERNAL}n{partial.index}")
    if isinstance(partial.function, exp.Count):
        counted = exp.Coalesce(this=count, expressions=[exp.Literal.number(0)])
        return exp.cast(counted, "BIGINT", dialect="duckdb")
    total: exp.Expr = _total(f"{INTERNAL}s{partial.index}")
    if isinstance(partial.function, exp.Avg):
        total = _average(partial, query, total, count)
    some = exp.GT(this=count.copy(), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=total)])


def _average(partial: Partial, query: LinearQuery, total: exp.Expr, count: exp.Expr) -> exp.Expr:
    """Sum over count, rounded where DuckDB rounds.

    Its AVG of a decimal divides the unscaled sum by count times 10^scale; but next to a SUM of the
    same values or a COUNT, its optimizer makes it their quotient. The last bit depends on it.
    """
    argument = partial.function.this.sql()
    beside = {
        p.function.this.sql()
        for p in query.partials.values()
        if not isinstance(p.function, exp.Avg)
    }
    divisor: exp.Expr = count.copy()
    if partial.scale and argument not in beside and "*" not in beside:
        power = exp.Literal.number(10**partial.scale)
        total = exp.cast(exp.Mul(this=total, expression=power), "HUGEINT", dialect="duckdb")
        product = exp.Mul(this=divisor, expression=power.copy())
        divisor = exp.cast(product, "DOUBLE", dialect="duckdb")
    return exp.Div(
        this=exp.cast(total, "DOUBLE", dialect="duckdb"), expression=divisor, typed=False
    )
