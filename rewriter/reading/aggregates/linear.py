"""Splits linear aggregates: over the base as it is, and over signed changes.

SUM, COUNT and AVG over exact types are linear in the rows: what a closing row takes away can be
subtracted. So ``SELECT g, SUM(x) .. GROUP BY g`` over a changed table is the plain aggregate of its
base, united with that of the few changes (open rows +1, closing rows -1), combined again by ``g``.
Without a base it is that of all rows, less that of what is not open: closing rows count twice, with
the rows that they end, where an index finds them. Where groups are grouped once more (grouping
sets, COUNT(DISTINCT ..)), those without a row are left out before. What is not linear
(``linear_queries``) takes the general shape. The idea is that of incremental view maintenance with
multiplicities (Gupta, Mumick, Subrahmanian 1993). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.segment import Tier
from journal.model.trees import Nodes
from journal.sql.dialects import IN_POSTGRES
from journal.sql.relations import business_outputs, column, ident
from journal.sql.signed_rows import SignedReader
from journal.sql.sql import named
from rewriter.context import RewriteContext
from rewriter.name_resolution import INTERNAL
from rewriter.reading.aggregates.exists_as_in import changed_table
from rewriter.reading.aggregates.linear_queries import (
    LinearQuery,
    NotLinear,
    Partial,
    counted_distinct,
    linear_query,
)
from rewriter.reading.policies.security import RowSecurity
from rewriter.reading.result_names import result_name

_TARGET = "split"
SIGN, _ROWS, _GROUP = f"{INTERNAL}sign", f"{INTERNAL}rows", f"{INTERNAL}g"
_WHOLE, _CLOSING = f"{INTERNAL}whole", f"{INTERNAL}closing"


@dataclass(frozen=True, slots=True)
class _Weights:
    """Columns that group rows by how often each counts; and how often, by the first that is true.

    What counts -1 times is made negative, not multiplied: a product has fewer digits on Spark.
    """

    columns: tuple[str, ...]
    factors: tuple[tuple[str, int], ...]
    otherwise: int

    def times_factor(self, value: exp.Column) -> exp.Expr:
        """A partial aggregate as often as its rows count."""
        cases = [exp.If(this=_says(n), true=_times(value, f)) for n, f in self.factors]
        return exp.Case(ifs=cases, default=_times(value, self.otherwise))


def _says(name: str) -> exp.Expr:
    found = column(name, "w")
    return exp.LT(this=found, expression=exp.Literal.number(0)) if name == SIGN else found


def _times(value: exp.Column, factor: int) -> exp.Expr:
    once = value.copy() if abs(factor) == 1 else exp.Mul(this=value.copy(), expression=_TWO.copy())
    return once if factor > 0 else exp.Neg(this=once)


_TWO = exp.Literal.number(2)
_SIGNED = _Weights((SIGN,), ((SIGN, -1),), 1)
_NOT_OPEN = _Weights((_CLOSING,), ((_CLOSING, -2),), -1)
_WITH_BASE = _Weights((_WHOLE, _CLOSING), ((_CLOSING, -1),), 1)
_WITHOUT_BASE = _Weights((_WHOLE, _CLOSING), ((_WHOLE, 1), *_NOT_OPEN.factors), -1)


@dataclass(frozen=True, slots=True)
class SplitAggregate:
    """A table that an aggregate query was split on; or one that has changed, and why it was not."""

    table: Table
    why_not: str = ""
    has_base: bool = True

    @property
    def is_split(self) -> bool:
        """Whether the query was split on it."""
        return not self.why_not

    @property
    def shape(self) -> str:
        """What the preview calls it."""
        return "split aggregate" if self.is_split else "not split"

    @property
    def why(self) -> str:
        """What the preview says of it."""
        if self.has_base:
            return self.why_not or "base as it is, changes with a sign"
        return self.why_not or "all rows, less twice those that end others"


def split_aggregates(nodes: Nodes, context: RewriteContext) -> list[SplitAggregate]:
    """Split the aggregate queries that can be, in place; what was split, and what was not."""
    found = []
    kinds = (exp.AggFunc, exp.Distinct)
    for select in nodes.all(exp.Select) if any(map(nodes.all, kinds)) else []:
        if select.parent is None or select.find(*kinds) is None:
            continue
        try:
            split, table = split_aggregate(select, context)
        except NotLinear as reason:
            changed = _changed_table(select, context) if str(reason) else None
            if changed is not None:
                found.append(SplitAggregate(changed, str(reason)))
        else:
            select.replace(split)
            tiers = context.scan_info(table.id).tiers
            found.append(SplitAggregate(table, has_base=Tier.BASE in tiers))
    return found


def _changed_table(select: exp.Select, context: RewriteContext) -> Table | None:
    """A table in a FROM clause that has changed since it was compacted."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    tables = (changed_table(n.this, context) for n in [from_, *joins] if n is not None)
    return next((table for table in tables if table is not None), None)


def split_aggregate(select: exp.Select, context: RewriteContext) -> tuple[exp.Select, Table]:
    """The split form of an aggregate query and the table it was split on; raises NotLinear.

    The tables of the result that were not split on are still logical.
    """
    query = linear_query(select, context)
    table = query.table
    if RowSecurity.of(table, context) is not None:
        raise NotLinear("the role sees its rows under policies")
    outer = _outer_query(query)
    reader = SignedReader(table, context.scan_info(table.id).tiers)
    outputs = business_outputs(table.columns)
    condition = query.select.args.get("where")
    is_shared = query.joins or (condition is not None and condition.find(exp.Query) is not None)
    has_base = Tier.BASE in reader.tiers
    both: exp.Query
    if is_shared:
        # Joined twice, the other tables would be read and hashed twice; those of subqueries, too.
        if context.capabilities.indexes_endings:
            rows = reader.weighted_rows(outputs, _WHOLE, _CLOSING)
            both = _partial_query(query, rows, _WITH_BASE if has_base else _WITHOUT_BASE)
        else:
            both = _partial_query(query, reader.signed_rows(outputs, SIGN), _SIGNED)
    elif not has_base:
        written = _partial_query(query, reader.all_changes(outputs))
        excess = _partial_query(query, reader.not_open(outputs, _CLOSING), _NOT_OPEN)
        both = exp.union(written, excess, distinct=False, copy=False)
    else:
        base = _partial_query(query, reader.base(outputs))
        changes = _partial_query(query, reader.signed_changes(outputs, SIGN), _SIGNED)
        both = exp.union(base, changes, distinct=False, copy=False)
    if _is_grouped_again(query):
        both = _net_groups(query, both)
    outer.set("from_", exp.From(this=both.subquery(ident("p"), copy=False)))
    return outer, table


def _is_grouped_again(query: LinearQuery) -> bool:
    return query.sets is not None or query.counted is not None


def _net_groups(query: LinearQuery, both: exp.Query) -> exp.Select:
    """What base and changes come to in each group that has rows."""
    keys = [column(f"{_GROUP}{i}", "p") for i in range(len(query.groups))]
    totals = [exp.alias_(_total(name), name) for name, _ in _partials(query)]
    net = exp.select(*[key.copy() for key in keys], *totals)
    net = net.from_(both.subquery(ident("p"), copy=False), copy=False)
    if keys:
        net.set("group", exp.Group(expressions=keys))
    net.set("having", exp.Having(this=_has_rows()))
    return net


def _has_rows() -> exp.Expr:
    return exp.GT(this=_total(_ROWS), expression=exp.Literal.number(0))


def _partial_query(
    query: LinearQuery, rows: exp.Query, weights: _Weights | None = None
) -> exp.Select:
    """The partial aggregate over one side of the split table, and what its rows weigh."""
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
    signs = weights.columns if weights is not None else ()
    outputs += [column(name) for name in signs]
    groups += [column(name) for name in signs]
    part.set("expressions", outputs)
    part.set("group", exp.Group(expressions=groups) if groups else None)
    return part if weights is None else _signed_partials(query, part, weights)


def _signed_partials(query: LinearQuery, part: exp.Select, weights: _Weights) -> exp.Select:
    """The partial aggregates of each sign, as often as it says."""
    outputs: list[exp.Expr] = [column(f"{_GROUP}{i}", "w") for i in range(len(query.groups))]
    outputs += [exp.alias_(weights.times_factor(column(n, "w")), n) for n, _ in _partials(query)]
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


def _outer_query(query: LinearQuery) -> exp.Select:
    """The query over the united partial aggregates, without its FROM."""
    outer = exp.Select()
    selects: list[exp.Expr] = []
    for item in query.select.selects:
        name = item.alias if isinstance(item, exp.Alias) else result_name(item)
        if not name:
            shown = item.sql(dialect="duckdb")
            raise NotLinear(f"it is not known how the store would name {shown}: give it an alias")
        selects.append(exp.alias_(_combine_partials(item.unalias(), query), ident(name)))
    outer.set("expressions", selects)
    groups = _outer_groups(query)
    having: exp.Expr | None = None
    if groups:
        outer.set("group", exp.Group(expressions=groups))
        # Those that are grouped again have rows.
        having = None if _is_grouped_again(query) else _has_rows()
    given = query.select.args.get("having")
    if given is not None:
        kept = _combine_partials(given.this, query)
        having = kept if having is None else exp.and_(having, exp.paren(kept))
    if having is not None:
        outer.set("having", exp.Having(this=having))
    order = query.select.args.get("order")
    if order is not None:
        aliases = {fold(s.alias) for s in selects if isinstance(s, exp.Alias)}
        terms = [
            _combine_partials(t, query, _names_of_outputs(t, aliases, query))
            for t in order.expressions
        ]
        outer.set("order", exp.Order(expressions=terms))
    for arg in ("limit", "offset", "with_"):
        if query.select.args.get(arg) is not None:
            outer.set(arg, query.select.args[arg].copy())
    return outer


def _names_of_outputs(term: exp.Expr, aliases: set[str], query: LinearQuery) -> set[str]:
    """The names that mean outputs in a term of ORDER BY; raises NotLinear where that is not known.

    By itself a name is that of an output, and within an expression first that of a column.
    """
    asked = {fold(c.name) for c in term.find_all(exp.Column) if not c.table} & aliases
    if isinstance(term.this, exp.Column) or not asked:
        return aliases
    if query.joins:
        raise NotLinear("a term of ORDER BY names an output, or a column")
    return aliases - {fold(stored.name) for stored in query.table.columns}


def _outer_groups(query: LinearQuery) -> list[exp.Expr]:
    if query.sets is None:
        return [column(f"{_GROUP}{i}", "p") for i in range(query.own_groups)]
    groups = []
    for node in query.sets:
        made = exp.Paren(this=node.copy())
        for number in list(made.find_all(exp.Literal)):
            number.replace(column(f"{_GROUP}{number.name}", "p"))
        groups.append(made.this)
    return groups


def _combine_partials(
    node: exp.Expr, query: LinearQuery, aliases: set[str] | frozenset[str] = frozenset()
) -> exp.Expr:
    """``node`` with aggregates and group expressions replaced; raises if a column is left over."""
    groups = {g.sql(): i for i, g in enumerate(query.groups)}
    left_over = False

    def replace(part: exp.Expr) -> exp.Expr:
        nonlocal left_over
        partial = (
            query.partials.get(part.sql()) if isinstance(part, (exp.AggFunc, exp.Filter)) else None
        )
        if partial is not None:
            return _final_value(partial, query)
        counted = counted_distinct(part)
        if counted is not None:
            return _count_of_groups(counted, query, groups)
        if isinstance(part, exp.Column) and not part.table and fold(part.name) in aliases:
            return part
        if isinstance(part, exp.Condition) and part.sql() in groups:
            return column(f"{_GROUP}{groups[part.sql()]}", "p")
        if isinstance(part, exp.Column):
            left_over = True
        return part

    result = node.copy().transform(replace, copy=False)
    if left_over:
        raise NotLinear
    return result


def _count_of_groups(counted: exp.Expr, query: LinearQuery, groups: Mapping[str, int]) -> exp.Expr:
    """How many values there are, each of which is a group of its own below."""
    value: exp.Expr = column(f"{_GROUP}{groups[counted.sql()]}", "p")
    if query.sets is not None:
        value = exp.Distinct(expressions=[value])
    return exp.Count(this=value)


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
    if partial.type is not None:
        total = exp.cast(total, partial.type, dialect="duckdb")
    some = exp.GT(this=count.copy(), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=total)])


def _is_quotient(partial: Partial, query: LinearQuery) -> bool:
    """True for an AVG that DuckDB makes the quotient of SUM and COUNT.

    It does so without GROUP BY, beside one of the two, and beside a count of all rows where no
    value is NULL, which is taken for granted of columns; never with FILTER.
    """
    if partial.condition is not None:
        return False
    if query.own_groups == 0 and query.sets is None:
        return True
    argument = partial.function.this
    beside = [p.function for p in query.partials.values() if p.condition is None and p != partial]
    if any(not isinstance(f, exp.Avg) and f.this == argument for f in beside):
        return True
    return isinstance(argument, exp.Column) and any(
        isinstance(f, exp.Count | exp.Avg) and isinstance(f.this, exp.Star | exp.Column)
        for f in beside
    )


def _average(partial: Partial, query: LinearQuery, total: exp.Expr, count: exp.Expr) -> exp.Expr:
    """Sum over count, rounded where DuckDB rounds.

    Its AVG of a decimal divides the unscaled sum by count times 10^scale, but for where its
    optimizer makes it the quotient of SUM and COUNT. The last bit depends on it. PostgreSQL's own
    is a NUMERIC.
    """
    divisor: exp.Expr = count.copy()
    if IN_POSTGRES in partial.function.meta:
        total = exp.cast(total, "DECIMAL", dialect="postgres")
        return exp.Div(this=total, expression=divisor, typed=True)
    if partial.scale and not _is_quotient(partial, query):
        power = exp.Literal.number(10**partial.scale)
        total = exp.cast(exp.Mul(this=total, expression=power), "HUGEINT", dialect="duckdb")
        product = exp.Mul(this=divisor, expression=power.copy())
        divisor = exp.cast(product, "DOUBLE", dialect="duckdb")
    return exp.Div(
        this=exp.cast(total, "DOUBLE", dialect="duckdb"), expression=divisor, typed=False
    )
