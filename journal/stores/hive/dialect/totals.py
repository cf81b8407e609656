"""Adds the total row that Spark leaves out of GROUP BY ROLLUP, CUBE and GROUPING SETS.

    SELECT .. GROUP BY ROLLUP (a) ORDER BY b
    ->  SELECT .. FROM ( the same, without its order
                         UNION ALL the total of no rows, if there are no rows ) ORDER BY ..

At most one of both has rows, so conditions and windows say the same of either. Whether there are
rows costs Spark a look at one. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.relations import column, ident

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SOURCE = ("from_", "joins", "laterals", "where")
_BOTH = "grouped"


def add_totals(holder: exp.Expr) -> None:
    """Change every SELECT in a tree whose grouping sets include the empty one."""
    for select in reversed(list(holder.find_all(exp.Select))):
        group = select.args.get("group")
        elements = [] if group is None else group.expressions
        count = _empty_sets(elements)
        if count:
            select.replace(_with_totals(select, elements, count))


def _empty_sets(elements: Sequence[exp.Expr]) -> int:
    """How many of the sets that a GROUP BY makes are empty; none without ROLLUP and the like."""
    if not any(isinstance(e, _SETS) for e in elements):
        return 0
    found = 1
    for element in elements:
        found *= _empty_in(element)
    return found


def _empty_in(element: exp.Expr) -> int:
    if isinstance(element, exp.Rollup | exp.Cube):
        return 1
    if isinstance(element, exp.GroupingSets):
        return sum(_empty_in(e) for e in element.expressions)
    return 1 if isinstance(element, exp.Tuple) and not element.expressions else 0


def _with_totals(select: exp.Select, elements: Sequence[exp.Expr], count: int) -> exp.Select:
    if any(s.is_star for s in select.selects):
        raise _refused("*", "name the columns")
    names = [s.alias_or_name for s in select.selects]
    inner = select.copy()
    outer = {name: inner.args.get(name) for name in ("with_", "order", "limit", "offset")}
    for name in outer:
        inner.set(name, None)
    asked = [] if outer["order"] is None else outer["order"].expressions
    ordered = [_ordered(inner, item, names) for item in asked]
    total = _total(inner, _group_keys(elements, select.selects))
    both: exp.Query = inner
    for _ in range(count):
        both = exp.Union(this=both, expression=total.copy(), distinct=False)
    columns = [ident(f"c{index}") for index in range(len(inner.selects))]
    alias = exp.TableAlias(this=ident(_BOTH), columns=columns)
    shown = [_output(index, name) for index, name in enumerate(names)]
    made = exp.select(*shown).from_(exp.Subquery(this=both, alias=alias))
    if ordered:
        made.set("order", exp.Order(expressions=ordered))
    for name in ("with_", "limit", "offset"):
        made.set(name, outer[name])
    return made


def _output(index: int, name: str) -> exp.Expr:
    value = column(f"c{index}", _BOTH)
    return exp.alias_(value, ident(name)) if name else value


def _ordered(inner: exp.Select, item: exp.Expr, names: Sequence[str]) -> exp.Ordered:
    """How both parts are ordered by what was asked; the query shows it to us if it does not yet."""
    asked, place = item.this, -1
    if isinstance(asked, exp.Literal) and not asked.is_string:
        place = int(asked.name) - 1
    elif isinstance(asked, exp.Column) and not asked.table:
        folded = [n.lower() for n in names]
        place = folded.index(asked.name.lower()) if asked.name.lower() in folded else -1
    if place < 0:
        if inner.args.get("distinct") is not None:
            raise _refused("DISTINCT in an order that is not shown", "show what the order is by")
        inner.append("expressions", asked.copy())
        place = len(inner.selects) - 1
    made = item.copy()
    assert isinstance(made, exp.Ordered)
    made.set("this", column(f"c{place}", _BOTH))
    return made


def _refused(what: str, advice: str) -> PalimpsestError:
    message = f"a Hive store has no ROLLUP, CUBE or GROUPING SETS with {what}"
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice)


def _group_keys(elements: Sequence[exp.Expr], selects: Sequence[exp.Expr]) -> frozenset[str]:
    """What a query is grouped by, as keys of the expressions."""
    found: set[str] = set()
    aliases = {s.alias.lower(): s.unalias() for s in selects if s.alias}
    for element in elements:
        if isinstance(element, (*_SETS, exp.Tuple)):
            found |= _group_keys(element.expressions, selects)
            continue
        by = element.this if isinstance(element, exp.Paren) else element
        if isinstance(by, exp.Literal) and not by.is_string:
            by = selects[int(by.name) - 1].unalias()
        elif isinstance(by, exp.Column) and not by.table and by.name.lower() in aliases:
            found.add(_key(aliases[by.name.lower()]))
        found.add(_key(by))
    return frozenset(found)


def _key(node: exp.Expr) -> str:
    """The same for expressions that differ in the case of names, or in what qualifies them."""
    holder = exp.Paren(this=node.copy())
    for found in list(holder.find_all(exp.Column)):
        found.replace(exp.column(exp.to_identifier(found.name.lower(), quoted=True)))
    return str(holder.sql())


def _total(inner: exp.Select, grouped: frozenset[str]) -> exp.Select:
    """The row of a query that has no rows to group; no row if it has some."""
    rows = exp.select("1").limit(1)
    for name in _SOURCE:
        found = inner.args.get(name)
        copied = [f.copy() for f in found] if isinstance(found, list) else found and found.copy()
        rows.set(name, copied)
    made = inner.copy()
    made.set("group", None)
    made.set("where", exp.Where(this=exp.false()))
    parts = [*made.expressions, *(made.args[n] for n in ("having", "qualify") if made.args.get(n))]
    for part in (*parts, *(made.args.get("windows") or ())):
        _settle(part, grouped)
    none = exp.Not(this=exp.Exists(this=rows))
    having = made.args.get("having")
    made.set("having", exp.Having(this=none if having is None else exp.and_(none, having.this)))
    return made


def _settle(node: exp.Expr, grouped: frozenset[str]) -> None:
    """Write for what the rows would be grouped by that there is none: NULL, of its type."""
    if isinstance(node, exp.Grouping):
        node.replace(exp.Literal.number(2 ** len(node.expressions) - 1))
    elif isinstance(node, exp.Condition) and _key(node) in grouped:
        node.replace(exp.AnyValue(this=node.copy()))
    elif isinstance(node, exp.Window):
        # The function goes over rows that are grouped already.
        function = (
            node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.Filter) else node.this
        )
        _settle_parts(function, grouped, lambda part: part is not function)
        _settle_parts(node, grouped, lambda part: part is not node.this)
    elif not isinstance(node, exp.AggFunc | exp.Filter | exp.Query):
        _settle_parts(node, grouped, lambda _: True)


def _settle_parts(
    node: exp.Expr, grouped: frozenset[str], wanted: Callable[[exp.Expr], bool]
) -> None:
    for part in list(node.iter_expressions()):
        if wanted(part):
            _settle(part, grouped)
