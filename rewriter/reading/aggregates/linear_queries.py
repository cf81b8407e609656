"""Which aggregate queries are linear in the rows of a table, so that they can be split.

SUM, COUNT and AVG over exact types, DISTINCT and COUNT(DISTINCT), with conditions, groups of any
kind, joins, and subqueries that only filter and project. Whatever is not understood in full is not
linear, and a ``NotLinear`` says what. Changes no query. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column, Table, fold
from journal.model.segment import Tier
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import Reader
from journal.sql.relations_flat import is_flat
from rewriter.context import RewriteContext
from rewriter.functions import is_random
from rewriter.name_resolution import table_name
from rewriter.reading.aggregates.exact_values import (
    decimal_places,
    has_two_faces,
    is_exact,
    is_whole,
)
from rewriter.reading.aggregates.merged_sources import merged
from rewriter.reading.key_lookup import pinned_keys
from rewriter.reading.materialized import holds_its_rows
from rewriter.reading.value_types import ValueTypes

_REFUSED = {
    "qualify": "QUALIFY looks at other rows",
    "sample": "a sample takes rows by chance",
    "laterals": "a lateral join may look at other rows",
    "pivots": "a pivot looks at all rows",
    "windows": "a window looks at other rows",
    "connect": "CONNECT BY looks at other rows",
    "into": "it makes a table",
}
_PARTS = ("joins", "version", "when", "pivots", "sample", "laterals")
_AGGREGATES = (exp.Sum, exp.Count, exp.Avg)
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


class NotLinear(Exception):
    """Why a query is not linear; without a text it is not worth telling."""


@dataclass(slots=True)
class Partial:
    """One distinct aggregate of the query; ``index`` numbers its partial columns.

    ``scale``: decimal places of what an AVG is taken over. ``type``: that of a SUM where the sum of
    such sums has a wider one.
    """

    node: exp.Expr
    index: int
    scale: int = 0
    type: str | None = None

    @property
    def function(self) -> exp.Expr:
        """The aggregate without its FILTER."""
        return self.node.this if isinstance(self.node, exp.Filter) else self.node

    @property
    def condition(self) -> exp.Expr | None:
        """What its FILTER says, if it has one."""
        return self.node.expression.this if isinstance(self.node, exp.Filter) else None


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables of a FROM clause by their folded names, and what else stands there.

    ``optional`` names those of which a row of the result may have none; ``shared`` the columns that
    USING makes one; ``is_open`` says that columns may be of something that is no table.
    """

    tables: dict[str, tuple[exp.Table, Table]] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    others: list[exp.Expr] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether columns may be of something that is no table."""
        return bool(self.others)

    def column(self, node: exp.Column) -> Column | None:
        """The stored column that is meant for certain."""
        if node.table:
            source = self.tables.get(fold(node.table))
            return None if source is None else source[1].find(node.name)
        found = [c for _, t in self.tables.values() if (c := t.find(node.name)) is not None]
        is_one = len(found) == 1 or (bool(found) and fold(node.name) in self.shared)
        return found[0] if is_one else None


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """A query that is linear in ``table``, which has changes, and stands at ``node``.

    ``groups`` are what it groups by, each once; ``sets`` are its grouping sets, whose parts are the
    numbers of groups, None where it has none. ``counted`` is what its COUNT(DISTINCT ..) takes,
    one of the groups; ``partials`` are its other aggregates, by their text.

    The first ``own_groups`` of the groups are those of the query itself.
    """

    select: exp.Select
    node: exp.Table
    table: Table
    groups: list[exp.Expr]
    joins: bool
    own_groups: int
    sets: list[exp.Expr] | None = None
    counted: exp.Expr | None = None
    partials: dict[str, Partial] = field(default_factory=dict)


def linear_query(given: exp.Select, context: RewriteContext) -> LinearQuery:
    """The parts of a query that is linear in a table with changes; raises NotLinear."""
    select = merged(given, context)
    sources = _sources(select, context)
    node, table = _split_table(sources, context)
    is_inner = context.capabilities.indexes_endings and given.parent_select is not None
    if is_inner and _is_correlated(select, sources):
        raise NotLinear("it is asked once more for each row around it, by an index if there is one")
    for part, why in _REFUSED.items():
        if select.args.get(part):
            raise NotLinear(why)
    if is_random(select):
        raise NotLinear("a random value is another one at each look")
    is_distinct = _is_distinct(select)
    groups, sets = _Grouping(select, sources).groups_and_sets(is_distinct=is_distinct)
    counted = _counted(select)
    _check_faces(groups, sources)
    own = len(groups)
    if counted is not None and counted.sql() not in {g.sql() for g in groups}:
        if counted.find(exp.Column) is None:
            raise NotLinear("it counts a constant")
        groups.append(counted)
    _check_size(groups, node, table, sources)
    _check_spread(groups, table, sources, context)
    has_others = len(sources.tables) > 1 or sources.is_open
    query = LinearQuery(select, node, table, groups, has_others, own, sets, counted)
    _collect(query, sources, context)
    if not query.partials and counted is None and not is_distinct:
        raise NotLinear
    return query


def _sources(select: exp.Select, context: RewriteContext) -> Sources:
    from_ = select.args.get("from_")
    if from_ is None:
        raise NotLinear
    found = Sources()
    _take_source(from_.this, found, context, optional=False)
    for join in select.args.get("joins") or []:
        kind = (join.side or join.kind or "INNER").upper()
        if join.method or kind not in {"INNER", "CROSS", "LEFT", "SEMI", "ANTI"}:
            raise NotLinear(f"{join.method or kind} JOIN keeps rows for what others lack")
        is_optional = kind in {"LEFT", "SEMI", "ANTI"}
        if is_optional and join.args.get("using"):
            raise NotLinear(f"{kind} JOIN has USING")
        _take_source(join.this, found, context, optional=is_optional)
        found.shared.update(fold(name.name) for name in join.args.get("using") or [])
    return found


def _take_source(
    node: exp.Expr, found: Sources, context: RewriteContext, *, optional: bool
) -> None:
    if isinstance(node, exp.Subquery | exp.Values):
        found.others.append(node)
        return
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise NotLinear
    if any(node.args.get(a) for a in _PARTS):
        raise NotLinear
    alias = node.args.get("alias")
    is_renamed = alias is not None and bool(alias.columns)
    stored = None if is_cte(node) else context.catalog.get(table_name(node, context))
    key = fold(node.alias_or_name)
    if key in found.tables:
        raise NotLinear
    if is_renamed or not isinstance(stored, Table):
        found.others.append(node)
        return
    if not holds_its_rows(stored, context, past=False):
        raise NotLinear
    found.tables[key] = (node, stored)
    if optional:
        found.optional.add(key)


def _split_table(sources: Sources, context: RewriteContext) -> tuple[exp.Table, Table]:
    why = ""
    for place, (name, (node, table)) in enumerate(sources.tables.items()):
        scan = context.scan_info(table.id)
        if scan.pinned or pinned_keys(node, table, context.kinds) is not None:
            continue
        if Tier.BASE not in scan.tiers:
            # What is joined to others is small as a rule, and looks smaller when it is split.
            if place or not _splits_head(table, scan.tiers, context):
                continue
        if Reader(table, scan.tiers).is_plain():
            continue
        if any(c.collation is not None for c in table.columns):
            # What stands for a group of equal texts may be a row that is gone.
            why = f"texts of {table.name} are equal by a collation, and may differ"
        elif name in sources.optional:
            why = f"rows of {table.name} may be joined with none"
        else:
            return node, table
    raise NotLinear(why)


def _splits_head(table: Table, tiers: frozenset[Tier], context: RewriteContext) -> bool:
    """Whether a table without a base may be split into the rows of its head, and those ended.

    Rows of an adopted journal may have ended by others with other values, or several times.
    """
    can = context.capabilities.indexes_endings and Tier.HEAD in tiers
    return can and not is_flat(table)


def _is_correlated(select: exp.Select, sources: Sources) -> bool:
    """True for a query that names columns of one around it."""
    known = {fold(node.alias_or_name) for node in sources.others}.union(sources.tables)
    aliases = {fold(output.alias) for output in select.selects}
    for node in select.walk(prune=lambda n: isinstance(n, exp.Query) and n is not select):
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            continue
        if node.table and fold(node.table) not in known:
            return True
        if not node.table and not sources.is_open and fold(node.name) not in aliases:
            if sources.column(node) is None:
                return True
    return False


def _is_distinct(select: exp.Select) -> bool:
    """True for SELECT DISTINCT without groups; raises NotLinear for any other DISTINCT."""
    distinct = select.args.get("distinct")
    if distinct is None:
        return False
    if distinct.args.get("on") is not None:
        raise NotLinear("DISTINCT ON keeps a row of each group")
    if select.args.get("group") or any(_has_aggregate(s) for s in select.selects):
        raise NotLinear("DISTINCT stands above groups")
    if any(s.find(exp.Star) for s in select.selects):
        raise NotLinear
    return True


class _Grouping:
    """What a query groups by."""

    def __init__(self, select: exp.Select, sources: Sources) -> None:
        self._select = select
        self._sources = sources
        self._groups: dict[str, exp.Expr] = {}

    def groups_and_sets(self, *, is_distinct: bool) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        """The groups, and the grouping sets over their numbers if there are any."""
        group = self._select.args.get("group")
        outputs = self._select.selects
        if is_distinct or (group is not None and group.args.get("all")):
            for output in outputs:
                if not _has_aggregate(output):
                    self._number(output.unalias())
            return self._checked(), None
        if group is None:
            return [], None
        others = {k for k, v in group.args.items() if v and k not in {"expressions", "all"}}
        if others:
            raise NotLinear(f"GROUP BY has {', '.join(sorted(others))}")
        if not any(isinstance(node, _SETS) for node in group.expressions):
            for node in group.expressions:
                self._number(self._named_expression(node))
            return self._checked(), None
        sets = [self._set(node) for node in group.expressions]
        return self._checked(), sets

    def _checked(self) -> list[exp.Expr]:
        groups = list(self._groups.values())
        if not all(g.find(exp.Column) for g in groups):
            raise NotLinear("it groups by a constant")
        if any(_has_aggregate(g) or g.find(exp.Query, exp.Window) for g in groups):
            raise NotLinear("it groups by a subquery or a window")
        return groups

    def _number(self, node: exp.Expr) -> int:
        """The place of a group among those that are different."""
        text = node.sql()
        if text not in self._groups:
            self._groups[text] = node
        return list(self._groups).index(text)

    def _set(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, (*_SETS, exp.Tuple)):
            return type(node)(expressions=[self._set(n) for n in node.expressions])
        if isinstance(node, exp.Paren):
            return exp.Paren(this=self._set(node.this))
        if isinstance(node, exp.Literal):
            raise NotLinear("a grouping set has a constant")
        return exp.Literal.number(self._number(self._named_expression(node)))

    def _named_expression(self, node: exp.Expr) -> exp.Expr:
        """The expression that a number, a column or an alias in GROUP BY stands for."""
        outputs = self._select.selects
        aliases = {fold(s.alias): s.unalias() for s in outputs if isinstance(s, exp.Alias)}
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.name) - 1 if node.name.isdigit() else -1
            if not 0 <= place < len(outputs):
                raise NotLinear
            return outputs[place].unalias()
        if not isinstance(node, exp.Column) or node.table or self._sources.column(node) is not None:
            return node
        meant = aliases.get(fold(node.name))
        if (meant is None) is not self._sources.is_open:
            # It may be a column of what is no table, which goes before an alias.
            raise NotLinear
        return node if meant is None else meant


def _check_faces(groups: list[exp.Expr], sources: Sources) -> None:
    """Raise NotLinear where the value of a group may be that of a row which is gone."""
    for group in groups:
        if has_two_faces(group, sources.column):
            raise NotLinear(f"equal values of {group.sql(dialect='duckdb')} may differ")


def _check_size(groups: list[exp.Expr], node: exp.Table, table: Table, sources: Sources) -> None:
    """Raise NotLinear where there are as many groups as rows, as nothing is spared then."""
    columns = [g for g in groups if isinstance(g, exp.Column)]
    names = {
        c.physical
        for g in columns
        if fold(g.table) in {"", fold(node.alias_or_name)}
        and (c := sources.column(g)) is not None
        and c in table.columns
    }
    if not sources.is_open and len(sources.tables) == 1 and names.issuperset(table.key):
        raise NotLinear("each row is a group of its own")


def _check_spread(
    groups: list[exp.Expr], table: Table, sources: Sources, context: RewriteContext
) -> None:
    """Raise NotLinear for nearly as many groups as rows, which each part would hash once more."""
    varied = context.varied(table.id) if groups else frozenset()
    for group in groups if varied else ():
        found = sources.column(group) if isinstance(group, exp.Column) else None
        if found is not None and found in table.columns and found.physical in varied:
            raise NotLinear(f"values of {found.name} hardly repeat")


def _has_aggregate(node: exp.Expr) -> bool:
    return node.find(exp.AggFunc) is not None


def _places(select: exp.Select) -> list[exp.Expr]:
    """Where aggregates may stand."""
    further = [select.args[a] for a in ("having", "order") if select.args.get(a)]
    return [*select.selects, *further]


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    for place in _places(select):
        for node in place.find_all(exp.AggFunc):
            if not isinstance(node, exp.Grouping | exp.GroupingId):
                yield node


def counted_distinct(node: exp.Expr) -> exp.Expr | None:
    """What COUNT(DISTINCT ..) takes; None for all other nodes."""
    if not isinstance(node, exp.Count) or not isinstance(node.this, exp.Distinct):
        return None
    found = node.this.expressions
    return found[0] if len(found) == 1 and not node.expressions else None


def _counted(select: exp.Select) -> exp.Expr | None:
    """What the COUNT(DISTINCT ..) of a query take, if it is one expression."""
    found: dict[str, exp.Expr] = {}
    for node in _aggregates(select):
        counted = counted_distinct(node)
        if counted is not None:
            if isinstance(node.parent, exp.Filter):
                raise NotLinear("a COUNT(DISTINCT ..) has a FILTER")
            found[counted.sql()] = counted
    if len(found) > 1:
        raise NotLinear("it counts different values of more than one expression")
    return next(iter(found.values()), None)


def _collect(query: LinearQuery, sources: Sources, context: RewriteContext) -> None:
    """Find the aggregates; raises NotLinear when one of them, or anything around them, is not."""
    for place in _places(query.select):
        if place.find(exp.Query) is not None or place.find(exp.Window) is not None:
            raise NotLinear("a subquery or a window stands beside the aggregates")
        if not all(isinstance(star.parent, exp.Count) for star in place.find_all(exp.Star)):
            raise NotLinear
    for node in _aggregates(query.select):
        if counted_distinct(node) is not None:
            continue
        whole: exp.Expr = node.parent if isinstance(node.parent, exp.Filter) else node
        if not isinstance(node, _AGGREGATES):
            raise NotLinear(f"{node.sql(dialect='duckdb')} is not a sum of what each row adds")
        if isinstance(whole.parent, exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
            raise NotLinear
        _check_linear(node, sources)
        scale: int | None = 0
        if isinstance(node, exp.Avg):
            scale = decimal_places(node.this, sources.column)
        if scale is None:
            raise NotLinear(f"the digits of {node.sql(dialect='duckdb')} are not known")
        kind = _narrow_type(node, sources, context)
        query.partials.setdefault(whole.sql(), Partial(whole, len(query.partials), scale, kind))


def _narrow_type(node: exp.Expr, sources: Sources, context: RewriteContext) -> str | None:
    """BIGINT for a SUM of which PostgreSQL makes that, while its sum of BIGINT is a NUMERIC.

    Raises NotLinear for whole numbers of a type that cannot be told.
    """
    if not isinstance(node, exp.Sum) or not context.capabilities.postgres_functions:
        return None
    kind = ValueTypes(context).of(node).kind
    if kind is None and is_whole(node.this, sources.column):
        raise NotLinear(f"the type of {node.sql(dialect='duckdb')} is not known")
    return kind if kind == "BIGINT" else None


def _check_linear(node: exp.Expr, sources: Sources) -> None:
    inner = node.this
    if node.expressions or isinstance(inner, exp.Distinct | exp.Order) or inner is None:
        raise NotLinear(f"{node.sql(dialect='duckdb')} is not a sum of what each row adds")
    if not isinstance(node, exp.Count) and not is_exact(inner, sources.column):
        raise NotLinear(
            f"what {node.sql(dialect='duckdb')} adds is not known to be whole numbers or decimals"
        )
