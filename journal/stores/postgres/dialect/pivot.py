"""PIVOT and UNPIVOT in PostgreSQL's terms: aggregates with a FILTER for each value, rows of VALUES.

    with_values  the values of a PIVOT that lists none are found by looking first
    expanded     a tree without either, once the values are known

The names of columns are those that DuckDB gives. Pure; what is given is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import fold
from journal.sql.builders import call
from journal.sql.lowering.select import Known, source_columns
from journal.sql.relations import ident

COLUMNS_MAX = 1_600
"""As many columns a row of PostgreSQL may have."""
_NAME, _VALUE, _ROW = "name", "value", "_palimpsest_unpivoted"


def has_pivots(tree: exp.Expr) -> bool:
    """True if there is anything to do."""
    return tree.find(exp.Pivot) is not None


def with_values(
    query: Query, known: Known, ask: Callable[[Query], Sequence[tuple[str, object]]]
) -> Query:
    """A query with the values of every PIVOT listed; ``ask`` gives the rows of a query.

    ``known`` are the columns of relations that the tree only names.
    """
    if not query.once("postgres pivots", lambda: has_pivots(query.ast)):
        return query
    return Query.of(_listed(query.ast, known, ask))


def _listed(
    tree: exp.Expr, known: Known, ask: Callable[[Query], Sequence[tuple[str, object]]]
) -> exp.Expr:
    holder = exp.Paren(this=tree.copy())
    for pivot in _inner_first(holder):
        source = pivot.this
        if isinstance(source, exp.Table) and not source.db and fold(source.name) in known:
            columns = [exp.column(ident(n)) for n in known[fold(source.name)]]
            named = exp.TableAlias(this=ident(source.name))
            pivot.set("this", exp.select(*columns).from_(source.copy()).subquery(copy=False))
            pivot.this.set("alias", named)
        if pivot.args.get("unpivot"):
            continue
        for on in [e for e in pivot.expressions if pivot.this is not None]:
            if not isinstance(on, exp.In):
                found = ask(Query.of(_distinct(pivot, on)))
                values: list[exp.Expr] = [exp.Literal.string(text) for text, _ in found]
                on.replace(exp.In(this=on.copy(), expressions=values))
    return _take_child(holder)


def expanded(tree: exp.Expr) -> exp.Expr:
    """The tree without PIVOT and UNPIVOT; refuses what needs values that nobody listed."""
    holder = exp.Paren(this=tree.copy())
    for pivot in _inner_first(holder):
        if pivot.this is not None:
            _replace_short(pivot)
        else:
            _replace_clause(pivot)
    return _take_child(holder)


def _inner_first(holder: exp.Expr) -> Iterator[exp.Pivot]:
    yield from reversed(list(holder.find_all(exp.Pivot)))


def _take_child(holder: exp.Paren) -> exp.Expr:
    found = holder.this
    assert isinstance(found, exp.Expr)
    found.pop()
    return found


def _distinct(pivot: exp.Pivot, on: exp.Expr) -> exp.Select:
    """The values of an expression over a PIVOT's source, as text and in their order."""
    text = exp.alias_(call("shown", on), "v")
    found = exp.select(text, exp.alias_(on.copy(), "o")).distinct().from_(pivot.this.copy())
    is_given = exp.Not(this=exp.Is(this=on.copy(), expression=exp.Null()))
    found = found.where(is_given).order_by("2").limit(COLUMNS_MAX + 1)
    before = _ctes_before(pivot)
    if before:
        found.set("with_", exp.With(expressions=before))
    return found


def _ctes_before(pivot: exp.Pivot) -> list[exp.Expr]:
    """The CTEs that a PIVOT's source may name, outer ones first; one and its copy are one."""
    found: list[exp.Expr] = []
    inner: exp.Expr = pivot
    node: exp.Expr | None = pivot
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None and clause is not inner:
            found = [*(c.copy() for c in clause.expressions), *found]
        if isinstance(node, exp.With):
            # It stands in one of these itself, and sees those before that.
            earlier = node.expressions[: node.expressions.index(inner)]
            found = [*(c.copy() for c in earlier), *found]
        inner, node = node, node.parent
    return [cte for place, cte in enumerate(found) if cte not in found[:place]]


def _replace_short(pivot: exp.Pivot) -> None:
    """``PIVOT t ON ..`` and ``UNPIVOT t ON ..``."""
    source = pivot.this
    into = pivot.args.get("into")
    if pivot.args.get("unpivot"):
        names = [_NAME, _VALUE]
        if into is not None:
            names = [into.this.name, *(e.name for e in into.expressions)]
        query = _unpivoted(pivot, source, pivot.expressions, names)
    else:
        using = [e for e in pivot.args.get("using") or () if e is not None]
        query = _pivoted(pivot, source, pivot.expressions, using)
    query.set("with_", pivot.args.get("with_"))
    pivot.replace(query)


def _replace_clause(pivot: exp.Pivot) -> None:
    """``FROM t PIVOT (..)`` and ``FROM t UNPIVOT (..)``."""
    source = pivot.parent
    assert source is not None
    if len(source.args["pivots"]) > 1:
        raise _refused("several PIVOT clauses behind one table", "nest them in subqueries")
    bare = source.copy()
    bare.set("pivots", None)
    fields = pivot.args.get("fields") or []
    if pivot.args.get("unpivot"):
        names = [fields[0].this.name, *(e.name for e in pivot.expressions)]
        query = _unpivoted(pivot, bare, fields[0].expressions, names)
    else:
        query = _pivoted(pivot, bare, fields, pivot.expressions)
    alias = pivot.args.get("alias") or bare.args.get("alias")
    if alias is None:
        alias = exp.TableAlias(this=ident(bare.alias_or_name or _ROW))
    found = query.subquery(copy=False)
    found.set("alias", alias.copy())
    source.replace(found)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A value of a PIVOT: what its columns are called by, and the condition on its rows."""

    name: str
    condition: exp.Expr


def _pivoted(
    pivot: exp.Pivot, source: exp.Expr, ons: Sequence[exp.Expr], using: Sequence[exp.Expr]
) -> exp.Select:
    if not ons:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this store has no PIVOT without ON",
            advice="name with ON or FOR the column whose values become columns",
        )
    aggregates = list(using) or [exp.Count(this=exp.Star())]
    choices = [_choices(on) for on in ons]
    group = pivot.args.get("group")
    if group is not None:
        groups = [e.copy() for e in group.expressions]
    else:
        used = {fold(c.name) for e in (*ons, *aggregates) for c in e.find_all(exp.Column)}
        groups = [exp.column(ident(n)) for n in _columns(source) if fold(n) not in used]
    outputs: list[exp.Expr] = list(groups)
    for combined in product(*choices):
        condition = exp.and_(*[c.condition.copy() for c in combined])
        name = "_".join(c.name for c in combined)
        for aggregate in aggregates:
            bare = aggregate.this if isinstance(aggregate, exp.Alias) else aggregate
            value = _filtered(bare, condition)
            called = _called(name, aggregate, alone=len(aggregates) == 1)
            outputs.append(exp.alias_(value, ident(called)))
    if len(outputs) > COLUMNS_MAX:
        raise _refused(f"PIVOT into {len(outputs)} columns", "list fewer values behind IN")
    if not outputs:
        raise _refused("PIVOT without a column", "list the values behind IN")
    query = exp.select(*outputs).from_(source.copy())
    return query.group_by(*[g.copy() for g in groups]) if groups else query


def _choices(on: exp.Expr) -> list[_Choice]:
    if not isinstance(on, exp.In) or on.args.get("query") is not None:
        raise _refused("PIVOT here without its values", "list them behind IN")
    found = []
    for value in on.expressions:
        given = value.this if isinstance(value, exp.PivotAlias) else value
        name = value.args["alias"].name if isinstance(value, exp.PivotAlias) else _text(given)
        # A text is compared with the text of the value, as DuckDB does.
        chosen = call("shown", on.this) if given.is_string else on.this.copy()
        found.append(_Choice(name, exp.EQ(this=chosen, expression=given.copy())))
    return found


def _text(value: exp.Expr) -> str:
    """A listed value as DuckDB names a column by it."""
    match value:
        case exp.Literal():
            return value.name
        case exp.Neg() if isinstance(value.this, exp.Literal):
            return f"-{value.this.name}"
        case exp.Boolean():
            return "true" if value.this else "false"
    raise _refused("PIVOT over such a value", "give it a name: IN (value AS name)")


def _filtered(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The value with its aggregates over rows that meet the condition alone."""

    def change(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.AggFunc):
            return node
        return exp.Filter(this=node.copy(), expression=exp.Where(this=condition.copy()))

    if value.find(exp.AggFunc) is None:
        return exp.Filter(this=value.copy(), expression=exp.Where(this=condition.copy()))
    return value.copy().transform(change, copy=False)


def _called(name: str, aggregate: exp.Expr, *, alone: bool) -> str:
    if isinstance(aggregate, exp.Alias):
        return f"{name}_{aggregate.alias}"
    if alone:
        return name
    arguments = [a for a in (aggregate.this, *aggregate.expressions) if isinstance(a, exp.Expr)]
    if not all(isinstance(a, exp.Column) for a in arguments):
        raise _refused("PIVOT by such aggregates without names", "name each: sum(a + 1) AS total")
    of = ", ".join(str(a.name) for a in arguments)
    return f"{name}_{aggregate.sql(dialect='duckdb').partition('(')[0].lower()}({of})"


def _unpivoted(
    pivot: exp.Pivot, source: exp.Expr, listed: Sequence[exp.Expr], names: Sequence[str]
) -> exp.Select:
    if len(names) != 2 or any(isinstance(e.unalias(), exp.Tuple) for e in listed):
        raise _refused("UNPIVOT into several columns", "write it with UNION ALL")
    columns = _columns(source)
    spelt = {fold(n): n for n in columns}
    chosen: list[tuple[str, str]] = []
    for item in listed:
        if isinstance(item, exp.Columns | exp.Star):
            chosen += [(n, n) for n in _starred(item, columns)]
            continue
        of = item.this if isinstance(item, exp.Alias | exp.PivotAlias) else item
        if not isinstance(of, exp.Column) or fold(of.name) not in spelt:
            raise _refused("UNPIVOT of anything but columns", "name them in a subquery first")
        name = spelt[fold(of.name)]
        chosen.append((name, item.args["alias"].name if item is not of else name))
    gone = {fold(n) for n, _ in chosen}
    kept: list[exp.Expr] = [exp.column(ident(n)) for n in columns if fold(n) not in gone]
    rows = [
        exp.Tuple(expressions=[exp.Literal.string(shown), exp.column(ident(name))])
        for name, shown in chosen
    ]
    called, value = ident(names[0]), ident(names[1])
    alias = exp.TableAlias(this=ident(_ROW), columns=[called.copy(), value.copy()])
    lateral = exp.Lateral(this=exp.Subquery(this=exp.Values(expressions=rows)), alias=alias)
    outputs = [*kept, *(exp.column(n, table=ident(_ROW)) for n in (called, value))]
    query = exp.select(*outputs).from_(source.copy())
    query.append("joins", exp.Join(this=lateral, kind="CROSS"))
    if pivot.args.get("include_nulls"):
        return query
    is_null = exp.Is(this=exp.column(value.copy(), table=ident(_ROW)), expression=exp.Null())
    return query.where(exp.Not(this=is_null))


def _starred(item: exp.Expr, columns: Sequence[str]) -> list[str]:
    star = item.this if isinstance(item, exp.Columns) else item
    if not isinstance(star, exp.Star) or star.args.get("replace") or star.args.get("rename"):
        raise _refused("UNPIVOT of such COLUMNS(..)", "list the columns")
    left_out = {fold(e.name) for e in star.args.get("except_") or ()}
    return [n for n in columns if fold(n) not in left_out]


def _columns(source: exp.Expr) -> list[str]:
    found = source_columns(source)
    if found is None:
        raise _refused("PIVOT or UNPIVOT of a source whose columns it cannot tell", "list them")
    return found


def _refused(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"this store has no {what}", advice=advice)
