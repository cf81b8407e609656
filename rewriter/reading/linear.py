"""Linear aggregates without a join: aggregate the base as it is, and the changes with a sign.

SUM, COUNT and AVG over exact types are linear in the rows: what a closing row takes away can be
subtracted. So ``SELECT g, SUM(x) .. GROUP BY g`` over a changed table is the plain aggregate of its
base, united with that of the few changes (open rows +1, closing rows -1), combined again by
``g``. Floating-point sums are not exact and take the general shape, as does whatever is not
understood in full here. The idea is that of incremental view maintenance with multiplicities
(Gupta, Mumick, Subrahmanian 1993). Pure: AST in, AST out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from journal.relations import Reader, business_outputs, column, ident
from journal.schema import Column, Table, fold
from journal.segment import Tier
from journal.sql import named
from rewriter.context import RewriteContext
from rewriter.names import INTERNAL, is_cte, table_name
from rewriter.reading.key_lookup import pinned_keys
from rewriter.reading.result_names import result_name

_TARGET = "split"
SIGN, _ROWS, _GROUP = f"{INTERNAL}sign", f"{INTERNAL}rows", f"{INTERNAL}g"
_EXACT = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT"
    " UTINYINT USMALLINT UINTEGER UBIGINT DECIMAL".split()
)
_REFUSED = ("distinct", "qualify", "sample", "laterals", "pivots", "windows", "connect", "into")
_AGGREGATES = (exp.Sum, exp.Count, exp.Avg)
Sources = dict[str, tuple[exp.Table, Table]]


@dataclass(slots=True)
class _Partial:
    """One distinct aggregate of the query and the names of its partial columns."""

    node: exp.Expr
    index: int
    scale: int = 0

    @property
    def function(self) -> exp.Expr:
        return self.node.this if isinstance(self.node, exp.Filter) else self.node

    @property
    def condition(self) -> exp.Expr | None:
        return self.node.expression.this if isinstance(self.node, exp.Filter) else None


@dataclass(slots=True)
class _Draft:
    """The pieces of a query that is being split."""

    select: exp.Select
    groups: list[exp.Expr]
    partials: dict[str, _Partial] = field(default_factory=dict)


def split_aggregate(select: exp.Select, context: RewriteContext) -> tuple[exp.Select, Table] | None:
    """The split form of an aggregate query and the table it was split on, or None.

    The tables of the result that were not split on are still logical.
    """
    sources = _sources(select, context)
    if sources is None:
        return None
    chosen = _changed(sources, context)
    groups = None if chosen is None else _groups(select, sources)
    if chosen is None or groups is None:
        return None
    draft = _Draft(select, groups)
    if not _collect(draft, sources):
        return None
    outer = _outer(draft)
    if outer is None:
        return None
    node, table = chosen
    reader = Reader(table, context.sights(table.id).tiers)
    outputs = business_outputs(table.columns)
    if len(sources) > 1:
        # Joined twice, the other tables would be read and hashed twice.
        both: exp.Query = _part(draft, node, reader.weighed(outputs, SIGN), signed=True)
    else:
        base = _part(draft, node, reader.base(outputs), signed=False)
        changes = _part(draft, node, reader.signed(outputs, SIGN), signed=True)
        both = exp.union(base, changes, distinct=False, copy=False)
    outer.set("from_", exp.From(this=both.subquery(ident("p"), copy=False)))
    return outer, table


def _sources(select: exp.Select, context: RewriteContext) -> Sources | None:
    from_ = select.args.get("from_")
    if from_ is None or any(select.args.get(a) for a in _REFUSED):
        return None
    nodes = [from_.this]
    for join in select.args.get("joins") or []:
        if (
            join.side
            or join.method
            or join.kind not in {"", "INNER", "CROSS"}
            or join.args.get("using")
        ):
            return None
        nodes.append(join.this)
    sources: Sources = {}
    for node in nodes:
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return None
        if any(
            node.args.get(a) for a in ("joins", "version", "when", "pivots", "sample", "laterals")
        ):
            return None
        alias = node.args.get("alias")
        if is_cte(node) or (alias is not None and alias.columns):
            return None
        found = context.catalog.get(table_name(node, context))
        key = fold(node.alias_or_name)
        if not isinstance(found, Table) or key in sources:
            return None
        sources[key] = (node, found)
    return sources


def _changed(sources: Sources, context: RewriteContext) -> tuple[exp.Table, Table] | None:
    for node, table in sources.values():
        sight = context.sights(table.id)
        if sight.pinned or Tier.BASE not in sight.tiers or pinned_keys(node, table) is not None:
            continue
        if not Reader(table, sight.tiers).is_plain():
            return node, table
    return None


def _groups(select: exp.Select, sources: Sources) -> list[exp.Expr] | None:
    group = select.args.get("group")
    if group is None:
        return []
    others = {k: v for k, v in group.args.items() if v and k not in {"expressions", "all"}}
    if others:
        return None
    if group.args.get("all"):
        return [s.unalias() for s in select.selects if not _aggregated(s)]
    aliases = {fold(s.alias): s.unalias() for s in select.selects if isinstance(s, exp.Alias)}
    groups: list[exp.Expr] = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.name) - 1
            if not 0 <= place < len(select.selects):
                return None
            groups.append(select.selects[place].unalias())
        elif isinstance(node, exp.Column) and not node.table and _column(node, sources) is None:
            if fold(node.name) not in aliases:
                return None
            groups.append(aliases[fold(node.name)])
        else:
            groups.append(node)
    return None if any(_aggregated(g) or g.find(exp.Query) for g in groups) else groups


def _aggregated(node: exp.Expr) -> bool:
    return node.find(exp.AggFunc) is not None


def _collect(draft: _Draft, sources: Sources) -> bool:
    """Find the aggregates; False when one of them, or anything around them, is not linear."""
    places = [*draft.select.selects]
    places += [draft.select.args[a] for a in ("having", "order") if draft.select.args.get(a)]
    for place in places:
        if place.find(exp.Query, exp.Window, exp.Star) not in (None,) and not _only_count_star(
            place
        ):
            return False
        for node in place.find_all(exp.AggFunc):
            whole: exp.Expr = node.parent if isinstance(node.parent, exp.Filter) else node
            if not isinstance(node, _AGGREGATES) or not _is_linear(node, sources):
                return False
            if isinstance(whole.parent, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
                return False
            scale = _scale(node.this, sources) if isinstance(node, exp.Avg) else 0
            if scale is None:
                return False
            draft.partials.setdefault(whole.sql(), _Partial(whole, len(draft.partials), scale))
    return bool(draft.partials)


def _scale(node: exp.Expr, sources: Sources) -> int | None:
    """Decimal places of what AVG is taken over; None where they are not known."""
    if isinstance(node, exp.Column):
        found = _column(node, sources)
        assert found is not None
        _, _, arguments = found.type.partition("(")
        return int(arguments.rstrip(") ").split(",")[-1]) if "," in arguments else 0
    if any("." in n.name for n in node.find_all(exp.Literal)):
        return None
    scales = {_scale(c, sources) for c in node.find_all(exp.Column)}
    return 0 if scales <= {0} else None


def _only_count_star(place: exp.Expr) -> bool:
    if place.find(exp.Query, exp.Window) is not None:
        return False
    return all(isinstance(star.parent, exp.Count) for star in place.find_all(exp.Star))


def _is_linear(node: exp.Expr, sources: Sources) -> bool:
    inner = node.this
    if node.expressions or isinstance(inner, exp.Distinct | exp.Order) or inner is None:
        return False
    if isinstance(node, exp.Count):
        return True
    return _is_exact(inner, sources)


def _column(node: exp.Column, sources: Sources) -> Column | None:
    if node.table:
        source = sources.get(fold(node.table))
        return None if source is None else source[1].find(node.name)
    found = [c for _, t in sources.values() if (c := t.find(node.name)) is not None]
    return found[0] if len(found) == 1 else None


def _is_exact(node: exp.Expr, sources: Sources) -> bool:
    match node:
        case exp.Paren() | exp.Neg():
            return _is_exact(node.this, sources)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _is_exact(node.this, sources) and _is_exact(node.expression, sources)
        case exp.Literal():
            return not node.is_string and "e" not in node.name.lower()
        case exp.Column():
            found = _column(node, sources)
            return found is not None and found.type.split("(")[0].upper() in _EXACT
        case exp.Case():
            results = [i.args["true"] for i in node.args["ifs"]]
            if node.args.get("default") is not None:
                results.append(node.args["default"])
            return all(_is_exact(r, sources) for r in results)
        case _:
            return False


def _part(draft: _Draft, target: exp.Table, rows: exp.Query, *, signed: bool) -> exp.Select:
    """The partial aggregate over one side of the split table."""
    alias = exp.TableAlias(this=ident(target.alias_or_name))
    target.meta[_TARGET] = True
    part = draft.select.copy()
    del target.meta[_TARGET]
    for arg in ("having", "order", "limit", "offset", "with_", "distinct"):
        part.set(arg, None)
    for node in list(part.find_all(exp.Table)):
        if node.meta.get(_TARGET):
            node.replace(exp.Subquery(this=rows, alias=alias))
    outputs: list[exp.Expr] = [named(g.copy(), f"{_GROUP}{i}") for i, g in enumerate(draft.groups)]
    outputs += [exp.alias_(value, name) for name, value in _partials(draft)]
    groups = [g.copy() for g in draft.groups]
    if signed:
        outputs.append(column(SIGN))
        groups.append(column(SIGN))
    part.set("expressions", outputs)
    part.set("group", exp.Group(expressions=groups) if groups else None)
    return _weighted(draft, part) if signed else part


def _weighted(draft: _Draft, part: exp.Select) -> exp.Select:
    """The partial aggregates of each sign, those of rows that ended made negative."""
    ended = exp.LT(this=column(SIGN, "w"), expression=exp.Literal.number(0))
    outputs: list[exp.Expr] = [column(f"{_GROUP}{i}", "w") for i in range(len(draft.groups))]
    for name, _ in _partials(draft):
        value = column(name, "w")
        negative = exp.If(this=ended.copy(), true=exp.Neg(this=value.copy()))
        outputs.append(exp.alias_(exp.Case(ifs=[negative], default=value), name))
    return exp.select(*outputs).from_(part.subquery("w"))


def _partials(draft: _Draft) -> list[tuple[str, exp.Expr]]:
    """Names and values of the columns of a partial aggregate, after those of its groups."""
    found: list[tuple[str, exp.Expr]] = []
    for partial in draft.partials.values():
        argument = partial.function.this
        count = _filtered(exp.Count(this=argument.copy()), partial.condition)
        found.append((f"{INTERNAL}n{partial.index}", count))
        if not isinstance(partial.function, exp.Count):
            total = _filtered(exp.Sum(this=argument.copy()), partial.condition)
            found.append((f"{INTERNAL}s{partial.index}", total))
    return [*found, (_ROWS, exp.Count(this=exp.Star()))]


def _filtered(function: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    if condition is None:
        return function
    return exp.Filter(this=function, expression=exp.Where(this=condition.copy()))


def _outer(draft: _Draft) -> exp.Select | None:
    """The query over the united partial aggregates, without its FROM."""
    outer = exp.Select()
    selects: list[exp.Expr] = []
    for item in draft.select.selects:
        name = item.alias if isinstance(item, exp.Alias) else result_name(item)
        if name is None:
            return None
        value = _combined(item.unalias(), draft)
        if value is None:
            return None
        selects.append(exp.alias_(value, ident(name)))
    outer.set("expressions", selects)
    having: exp.Expr | None = None
    if draft.groups:
        keys = [column(f"{_GROUP}{i}", "p") for i in range(len(draft.groups))]
        outer.set("group", exp.Group(expressions=keys))
        having = exp.GT(this=_total(_ROWS), expression=exp.Literal.number(0))
    given = draft.select.args.get("having")
    if given is not None:
        kept = _combined(given.this, draft)
        if kept is None:
            return None
        having = kept if having is None else exp.and_(having, exp.paren(kept))
    if having is not None:
        outer.set("having", exp.Having(this=having))
    order = draft.select.args.get("order")
    if order is not None:
        aliases = {fold(s.alias) for s in selects if isinstance(s, exp.Alias)}
        rewritten = _combined(order, draft, aliases)
        if rewritten is None:
            return None
        outer.set("order", rewritten)
    for arg in ("limit", "offset", "with_"):
        if draft.select.args.get(arg) is not None:
            outer.set(arg, draft.select.args[arg].copy())
    return outer


def _combined(
    node: exp.Expr, draft: _Draft, aliases: set[str] | frozenset[str] = frozenset()
) -> exp.Expr | None:
    """``node`` with aggregates and group expressions replaced; None if a column is left over."""
    groups = {g.sql(): i for i, g in enumerate(draft.groups)}
    left_over = False

    def replace(part: exp.Expr) -> exp.Expr:
        nonlocal left_over
        partial = (
            draft.partials.get(part.sql()) if isinstance(part, (exp.AggFunc, exp.Filter)) else None
        )
        if partial is not None:
            return _final(partial, draft)
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


def _final(partial: _Partial, draft: _Draft) -> exp.Expr:
    count = _total(f"{INTERNAL}n{partial.index}")
    if isinstance(partial.function, exp.Count):
        counted = exp.Coalesce(this=count, expressions=[exp.Literal.number(0)])
        return exp.cast(counted, "BIGINT", dialect="duckdb")
    total: exp.Expr = _total(f"{INTERNAL}s{partial.index}")
    if isinstance(partial.function, exp.Avg):
        total = _average(partial, draft, total, count)
    some = exp.GT(this=count.copy(), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=total)])


def _average(partial: _Partial, draft: _Draft, total: exp.Expr, count: exp.Expr) -> exp.Expr:
    """Sum over count, rounded where DuckDB rounds.

    Its AVG of a decimal divides the unscaled sum by count times 10^scale; but next to a SUM of the
    same values or a COUNT, its optimizer makes it their quotient. The last bit depends on it.
    """
    argument = partial.function.this.sql()
    beside = {
        p.function.this.sql()
        for p in draft.partials.values()
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
