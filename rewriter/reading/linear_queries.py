"""Which aggregate queries are linear in the rows of a table, so that they can be split.

SUM, COUNT and AVG over exact types, with filters, groups and inner joins. Floating-point sums are
not exact, and whatever is not understood in full is not linear. Changes no query. Pure.
"""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column, Table, fold
from journal.model.segment import Tier
from journal.sql.relations import Reader
from rewriter.context import RewriteContext
from rewriter.name_resolution import is_cte, table_name
from rewriter.reading.key_lookup import pinned_keys
from rewriter.reading.materialized import holds_its_rows

_EXACT = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT"
    " UTINYINT USMALLINT UINTEGER UBIGINT DECIMAL".split()
)
_EXACT_CASTS = frozenset("TINYINT SMALLINT INT BIGINT INT128 DECIMAL".split())
_REFUSED = ("distinct", "qualify", "sample", "laterals", "pivots", "windows", "connect", "into")
_AGGREGATES = (exp.Sum, exp.Count, exp.Avg)
_Sources = dict[str, tuple[exp.Table, Table]]


@dataclass(slots=True)
class Partial:
    """One distinct aggregate of the query; ``index`` numbers its partial columns.

    ``scale``: decimal places of what an AVG is taken over.
    """

    node: exp.Expr
    index: int
    scale: int = 0

    @property
    def function(self) -> exp.Expr:
        """The aggregate without its FILTER."""
        return self.node.this if isinstance(self.node, exp.Filter) else self.node

    @property
    def condition(self) -> exp.Expr | None:
        """What its FILTER says, if it has one."""
        return self.node.expression.this if isinstance(self.node, exp.Filter) else None


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """A query that is linear in ``table``, which has a base and changes, and stands at ``node``.

    ``groups`` are what it groups by; ``partials`` its aggregates, by their text.
    """

    select: exp.Select
    node: exp.Table
    table: Table
    groups: list[exp.Expr]
    joins: bool
    partials: dict[str, Partial] = field(default_factory=dict)


def linear_query(select: exp.Select, context: RewriteContext) -> LinearQuery | None:
    """The parts of a query that is linear in a table with changes; else None."""
    sources = _sources(select, context)
    if sources is None:
        return None
    chosen = _split_table(sources, context)
    groups = None if chosen is None else _groups(select, sources)
    if chosen is None or groups is None:
        return None
    query = LinearQuery(select, *chosen, groups, joins=len(sources) > 1)
    return query if _collect(query, sources) else None


def _sources(select: exp.Select, context: RewriteContext) -> _Sources | None:
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
    sources: _Sources = {}
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
        if not holds_its_rows(found, context, past=False):
            return None
        sources[key] = (node, found)
    return sources


def _split_table(sources: _Sources, context: RewriteContext) -> tuple[exp.Table, Table] | None:
    for node, table in sources.values():
        scan = context.scan_info(table.id)
        if scan.pinned or Tier.BASE not in scan.tiers or pinned_keys(node, table) is not None:
            continue
        if any(c.collation is not None for c in table.columns):
            # What stands for a group of equal texts may be a row that is gone.
            continue
        if not Reader(table, scan.tiers).is_plain():
            return node, table
    return None


def _groups(select: exp.Select, sources: _Sources) -> list[exp.Expr] | None:
    group = select.args.get("group")
    if group is None:
        return []
    others = {k: v for k, v in group.args.items() if v and k not in {"expressions", "all"}}
    if others:
        return None
    if group.args.get("all"):
        return [s.unalias() for s in select.selects if not _has_aggregate(s)]
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
    return None if any(_has_aggregate(g) or g.find(exp.Query) for g in groups) else groups


def _has_aggregate(node: exp.Expr) -> bool:
    return node.find(exp.AggFunc) is not None


def _collect(query: LinearQuery, sources: _Sources) -> bool:
    """Find the aggregates; False when one of them, or anything around them, is not linear."""
    places = [*query.select.selects]
    places += [query.select.args[a] for a in ("having", "order") if query.select.args.get(a)]
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
            query.partials.setdefault(whole.sql(), Partial(whole, len(query.partials), scale))
    return bool(query.partials)


def _scale(node: exp.Expr, sources: _Sources) -> int | None:
    """Decimal places of what AVG is taken over; None where they are not known."""
    if isinstance(node, exp.Column):
        found = _column(node, sources)
        assert found is not None
        _, _, arguments = found.type.partition("(")
        return int(arguments.rstrip(") ").split(",")[-1]) if "," in arguments else 0
    if node.find(exp.Cast) is not None:
        return None
    if any("." in n.name for n in node.find_all(exp.Literal)):
        return None
    scales = {_scale(c, sources) for c in node.find_all(exp.Column)}
    return 0 if scales <= {0} else None


def _only_count_star(place: exp.Expr) -> bool:
    if place.find(exp.Query, exp.Window) is not None:
        return False
    return all(isinstance(star.parent, exp.Count) for star in place.find_all(exp.Star))


def _is_linear(node: exp.Expr, sources: _Sources) -> bool:
    inner = node.this
    if node.expressions or isinstance(inner, exp.Distinct | exp.Order) or inner is None:
        return False
    if isinstance(node, exp.Count):
        return True
    return _is_exact(inner, sources)


def _column(node: exp.Column, sources: _Sources) -> Column | None:
    if node.table:
        source = sources.get(fold(node.table))
        return None if source is None else source[1].find(node.name)
    found = [c for _, t in sources.values() if (c := t.find(node.name)) is not None]
    return found[0] if len(found) == 1 else None


def _is_exact(node: exp.Expr, sources: _Sources) -> bool:
    match node:
        case exp.Paren() | exp.Neg() | exp.Abs():
            return _is_exact(node.this, sources)
        case exp.Length():
            return True
        case exp.Cast():
            return node.to.this.value in _EXACT_CASTS
        case exp.Coalesce():
            return all(_is_exact(n, sources) for n in (node.this, *node.expressions))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
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
