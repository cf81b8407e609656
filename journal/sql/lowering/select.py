"""Clauses of the canonical SELECT that PostgreSQL lacks, written out in those it has.

Stars with EXCLUDE or REPLACE, and COLUMNS with a regular expression, become lists of columns; names
given in the select list may be used in WHERE, HAVING and later items, so they are replaced by what
they stand for; GROUP BY ALL and ORDER BY ALL say what they mean; QUALIFY becomes a query around.
Pure; changes the tree that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import sources_of
from journal.sql.lowering.chosen_columns import (
    all_hold,
    chosen_outputs,
    columns_of_star,
    has_columns,
)
from journal.sql.lowering.limits import count_shares, is_share
from journal.sql.lowering.qualify import filter_around, rank_distinct
from journal.sql.lowering.set_operations import prepare_set_operations
from journal.sql.lowering.sources import prepare_sources
from journal.sql.relations import ident

_ALL = "ALL"
Known = Mapping[str, list[str]]
_FILTERING = frozenset({"SEMI", "ANTI"})
"""Joins that bring no columns."""
_NOTHING: Known = MappingProxyType({})


def prepare_selects(
    tree: exp.Expr, *, distinct_on: bool = True, counted_limits: bool = True
) -> exp.Expr:
    """The tree with every SELECT in PostgreSQL's terms, inner ones first.

    ``distinct_on`` and ``counted_limits`` say whether the store has these as well: DISTINCT ON, and
    a LIMIT that a query computes.
    """
    if any(is_share(limit) for limit in tree.find_all(exp.Limit)):
        if not counted_limits:
            raise _refusal("LIMIT by a share of the rows", "count them, and write a number")
        tree = count_shares(tree)
    holder = exp.Paren(this=tree)
    prepare_sources(holder)
    _name_sources(holder)
    _unname_rows(holder)
    prepare_set_operations(holder, result_names)
    for select in reversed(list(holder.find_all(exp.Select))):
        _expand_stars(select)
        _group_by_all(select)
        if _all_ordered(select) is not None:
            _order_by_all(select, sum(_widths(select)))
        if not distinct_on:
            rank_distinct(select)
        _inline_aliases(select)
        _move_qualify(select)
    for operation in holder.find_all(exp.SetOperation):
        if _all_ordered(operation) is not None:
            _order_by_all(operation, _width_of(operation))
    prepared = holder.this
    assert isinstance(prepared, exp.Expr)
    prepared.pop() if prepared.parent is not None else None
    return prepared


def _refusal(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"this store has no {what}", advice=advice)


def _name_sources(holder: exp.Expr) -> None:
    """Names for subqueries, which PostgreSQL before 16 wants, and the canonical ones of columns."""
    number = 0
    for node in holder.find_all(exp.Subquery):
        inner = node.this
        # Joined relations in brackets keep their own names, which an alias would hide.
        is_join = isinstance(inner, exp.Table | exp.Subquery) and inner.args.get("joins")
        source = isinstance(node.parent, exp.From | exp.Join) and not is_join
        if source and not node.alias and node.arg_key == "this":
            number += 1
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"unnamed_{number}")))
    for lateral in holder.find_all(exp.Lateral):
        if isinstance(lateral.this, exp.Subquery) and not lateral.alias:
            number += 1
            lateral.set("alias", exp.TableAlias(this=exp.to_identifier(f"unnamed_{number}")))
    for number, rows in enumerate(holder.find_all(exp.Values)):
        if not isinstance(rows.parent, exp.From | exp.Join):
            continue
        alias = rows.args.get("alias") or exp.TableAlias(this=exp.to_identifier(f"rows_{number}"))
        if not alias.columns and rows.expressions:
            width = len(rows.expressions[0].unalias().expressions)
            alias.set("columns", [exp.to_identifier(f"col{place}") for place in range(width)])
        rows.set("alias", alias)
    for series in holder.find_all(exp.GenerateSeries):
        found = series.parent
        if isinstance(found, exp.Table):
            name = "range" if series.args.get("is_end_exclusive") else "generate_series"
            alias = found.args.get("alias") or exp.TableAlias(this=ident(name))
            if not alias.columns:
                alias.set("columns", [ident(name)])
            found.set("alias", alias)


def _unname_rows(holder: exp.Expr) -> None:
    """A row of VALUES may carry a name in the canonical dialect."""
    for node in holder.find_all(exp.Values):
        rows = [r.this if isinstance(r, exp.Alias) else r for r in node.expressions]
        node.set("expressions", rows)


def source_columns(source: exp.Expr, known: Known = _NOTHING) -> list[str] | None:
    """Names of the columns a source has; None where the tree does not say."""
    alias = source.args.get("alias")
    named = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if isinstance(source, exp.Unnest) and isinstance(source.args.get("offset"), exp.Identifier):
        return [*named, source.args["offset"].name]
    found = _own_columns(source, known)
    return named or None if found is None else [*named, *found[len(named) :]]


def _own_columns(source: exp.Expr, known: Known) -> list[str] | None:
    """The columns of a source by the names that its alias may replace."""
    if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
        source = source.this
    if isinstance(source, exp.Subquery) and not source.args.get("pivots"):
        inner = source.this
        is_join = isinstance(inner, exp.Subquery) and bool(inner.args.get("joins"))
        return _outputs(inner, known) if isinstance(inner, exp.Query) and not is_join else None
    if isinstance(source, exp.Table):
        return _cte_columns(source, known) or (None if source.db else known.get(fold(source.name)))
    return None


def _cte_columns(table: exp.Table, known: Known) -> list[str] | None:
    if table.db:
        return None
    node: exp.Expr | None = table
    outer: set[int] = set()
    while node is not None:
        outer.add(id(node))
        clause = node.args.get("with_")
        is_recursive = clause is not None and bool(clause.args.get("recursive"))
        for cte in clause.expressions if clause is not None else ():
            named = [c.name for c in cte.args["alias"].columns]
            # Within itself a CTE says no more of its columns than that, if it is recursive.
            if id(cte) in outer and not (named and is_recursive):
                continue
            if fold(cte.alias) == fold(table.name):
                return named or (
                    _outputs(cte.this, known) if isinstance(cte.this, exp.Query) else None
                )
        node = node.parent
    return None


def _outputs(query: exp.Query, known: Known = _NOTHING) -> list[str] | None:
    found = result_names(query, known)
    return None if found is None or not all(found) else found


def result_names(query: exp.Query | exp.Values, known: Known = _NOTHING) -> list[str] | None:
    """Names of a query's columns as written, "" where it gives none; None if it does not say.

    ``known`` are the columns of relations that the tree only names.
    """
    if isinstance(query, exp.SetOperation) and query.args.get("by_name"):
        sides = [result_names(side, known) for side in (query.this, query.expression)]
        if sides[0] is None or sides[1] is None:
            return None
        first = {fold(name) for name in sides[0]}
        return [*sides[0], *(name for name in sides[1] if fold(name) not in first)]
    if isinstance(query, exp.SetOperation | exp.Subquery):
        return result_names(query.this, known) if isinstance(query.this, exp.Query) else None
    if isinstance(query, exp.Values):
        first = query.expressions[0].unalias()
        return [f"col{place}" for place in range(len(first.expressions) or 1)]
    found: list[str] = []
    for item in query.selects:
        if has_columns(item):
            if _starred(query, exp.Star(), known) is None:
                return None
            chosen = chosen_outputs(item, lambda star: _starred(query, star, known))
            found += [output.alias_or_name for output in chosen]
        elif item.is_star:
            inner = _starred(query, item, known)
            if inner is None or _is_ordered_by_store(query, item):
                return None
            star = item.this if isinstance(item, exp.Column) else item
            found += [kept.alias_or_name for kept in columns_of_star(star, inner)]
        else:
            found.append(item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else "")
    return found


def _starred(
    query: exp.Expr, star: exp.Expr, known: Known = _NOTHING
) -> list[tuple[str, str]] | None:
    """Alias and name of each column that a star stands for."""
    if not isinstance(query, exp.Select):
        return None
    of = star.table if isinstance(star, exp.Column) else ""
    joins = {id(join.this): join for join in query.args.get("joins") or ()}
    found: list[tuple[str, str]] = []
    for source in sources_of(query):
        alias = source.alias_or_name
        if of and fold(alias) != fold(of):
            continue
        columns = source_columns(source, known)
        if columns is None:
            return None
        join = joins.get(id(source))
        if join is not None and not of and join.kind.upper() in _FILTERING:
            continue
        shared = frozenset() if join is None or of else _joined_names(join, found, columns)
        # Where both have it, a column without a table is the one of both.
        found = [("" if fold(name) in shared else other, name) for other, name in found]
        found += [(alias, name) for name in columns if fold(name) not in shared]
    return found


def _is_ordered_by_store(query: exp.Query, star: exp.Expr) -> bool:
    """True for a star whose columns the store puts in its own order, joined ones first."""
    is_plain = type(star) is exp.Star and not any(star.args.values())
    joins = query.args.get("joins") or ()
    return is_plain and any(j.args.get("using") or j.method.upper() == "NATURAL" for j in joins)


def _joined_names(
    join: exp.Join, before: list[tuple[str, str]], columns: list[str]
) -> frozenset[str]:
    """The columns that a join makes one of: those behind USING, and of NATURAL all of a name."""
    if join.args.get("using"):
        return frozenset(fold(name.name) for name in join.args["using"])
    if join.method.upper() != "NATURAL":
        return frozenset()
    return frozenset(fold(name) for _, name in before) & frozenset(map(fold, columns))


def _expand_stars(select: exp.Select) -> None:
    items: list[exp.Expr] = []
    changed = False
    for item in select.expressions:
        if has_columns(item):
            items += chosen_outputs(item, lambda star: _starred(select, star))
            changed = True
            continue
        star = item.this if isinstance(item, exp.Column) else item
        special = isinstance(star, exp.Star) and any(
            star.args.get(arg) for arg in ("except_", "replace", "rename")
        )
        if not special:
            items.append(item)
            continue
        columns = _starred(select, item)
        if columns is None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "this store has no EXCLUDE, REPLACE or RENAME behind a star",
                advice="list the columns",
            )
        changed = True
        items += columns_of_star(star, columns)
    if changed:
        select.set("expressions", items)
    for name in ("where", "having", "qualify"):
        clause = select.args.get(name)
        if clause is not None and has_columns(clause.this):
            clause.set("this", all_hold(clause.this, lambda star: _starred(select, star)))


def _group_by_all(select: exp.Select) -> None:
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    plain: list[int] = []
    place = 1
    for output, width in zip(select.expressions, _widths(select), strict=True):
        if output.find(exp.AggFunc) is None:
            plain += range(place, place + width)
        place += width
    if plain:
        numbers: list[exp.Expr] = [exp.Literal.number(i) for i in plain]
        select.set("group", exp.Group(expressions=numbers))
    else:
        select.set("group", None)


def _widths(select: exp.Select) -> list[int]:
    """How many columns each output of a query is.

    Raises NOT_SUPPORTED for a star over a relation of which the tree does not tell the columns.
    """
    one = [("", "")]
    found = [_starred(select, item) if item.is_star else one for item in select.expressions]
    if [*map(type, sources_of(select))] == [exp.Unnest]:
        found = [one if columns is None else columns for columns in found]
    if None in found:
        raise _refusal("ORDER BY ALL and GROUP BY ALL behind such a star", "list the columns")
    return [len(columns or ()) for columns in found]


def _width_of(operation: exp.SetOperation) -> int:
    """How many columns a set operation has: those of its first query, if not joined by name."""
    first: exp.Expr = operation
    while isinstance(first, exp.SetOperation | exp.Subquery) and not first.args.get("by_name"):
        first = first.this
    if isinstance(first, exp.Select):
        return sum(_widths(first))
    return len(result_names(operation) or ())


def _all_ordered(select: exp.Query) -> exp.Ordered | None:
    """What ORDER BY ALL says of the order; None for a query without it."""
    order = select.args.get("order")
    if order is None or len(order.expressions) != 1:
        return None
    (ordered,) = order.expressions
    key = ordered.this
    bare = isinstance(key, exp.Var) or (
        isinstance(key, exp.Column) and not key.table and not key.this.args.get("quoted")
    )
    return ordered if bare and str(key.name).upper() == _ALL else None


def _order_by_all(select: exp.Query, width: int) -> None:
    ordered = _all_ordered(select)
    if ordered is None or not width:
        return
    terms = [
        exp.Ordered(
            this=exp.Literal.number(place),
            desc=ordered.args.get("desc"),
            nulls_first=ordered.args.get("nulls_first"),
        )
        for place in range(1, width + 1)
    ]
    select.args["order"].set("expressions", terms)


def _inline_aliases(select: exp.Select) -> None:
    aliases = {fold(e.alias): e.this for e in select.expressions if isinstance(e, exp.Alias)}
    if not aliases:
        return
    known: set[str] | None = set()
    for source in sources_of(select):
        columns = source_columns(source)
        if columns is None:
            known = None
            break
        assert known is not None
        known |= {fold(c) for c in columns}
    if known is None:
        # Only names that no client can give are certain not to be columns.
        aliases = {k: v for k, v in aliases.items() if k.startswith("_palimpsest")}
    else:
        aliases = {k: v for k, v in aliases.items() if k not in known}
    if not aliases:
        return
    for item in select.expressions:
        own = fold(item.alias) if isinstance(item, exp.Alias) else ""
        _inline(item, select, {k: v for k, v in aliases.items() if k != own})
        if own in aliases:
            aliases[own] = item.this
    for clause in ("where", "having", "qualify"):
        found = select.args.get(clause)
        if found is not None:
            _inline(found, select, aliases)
    order = select.args.get("order")
    for term in order.expressions if order is not None else ():
        # A name alone is that of an output to every store.
        if not isinstance(term.this, exp.Column):
            _inline(term, select, aliases)


def _move_qualify(select: exp.Select) -> None:
    """Filter a query with QUALIFY in one around it."""
    qualify = select.args.get("qualify")
    if qualify is None:
        return
    outputs: list[exp.Expr] = []
    for item in select.expressions:
        columns = _starred(select, item) if item.is_star else []
        if columns is None:
            raise _refusal("QUALIFY behind a star whose columns are not known", "list the columns")
        if item.is_star:
            star = item.this if isinstance(item, exp.Column) else item
            outputs += columns_of_star(star, columns)
        else:
            outputs.append(item)
    if any(source_columns(source) is None for source in sources_of(select)):
        # A name that is not known to be a column is that of an output.
        aliases = {fold(e.alias): e.this for e in select.expressions if isinstance(e, exp.Alias)}
        _inline(qualify, select, aliases)
    filter_around(select, outputs)


def _inline(node: exp.Expr, select: exp.Select, aliases: Mapping[str, exp.Expr]) -> None:
    for column in list(node.find_all(exp.Column)):
        if column.table or column.find_ancestor(exp.Query) is not select:
            continue
        meant = aliases.get(fold(column.name))
        if meant is not None:
            column.replace(exp.Paren(this=meant.copy()))
