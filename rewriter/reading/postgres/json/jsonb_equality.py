"""When two values of jsonb are equal, and which is the lesser one, as PostgreSQL decides it. Pure.

j = k, IN, IS DISTINCT FROM     by keys: texts of JSON that are the same for values that are equal
ORDER BY j, j < k               by kinds, then by how many elements, then by value
GROUP BY j, DISTINCT            by keys
UNION, INTERSECT, EXCEPT        of canonical values, one for all that are equal
JOIN .. USING (j)               refused

A store that is PostgreSQL compares jsonb itself, and keeps ``json``: there all three are casts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.model.trees import is_nested
from journal.sql.relations import ident
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.json.jsonb_forms import (
    CANONICAL,
    canonical,
    is_jsonb,
    key_of,
    keys_of_list,
    place_of,
)
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.taken_types import AS_WRITTEN
from rewriter.reading.value_types import KIND, ValueTypes
from rewriter.reading.visible_columns import names_of_source, relations_of

_ORDERING = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_EQUATING = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
KINDS = (
    *(*_EQUATING, *_ORDERING, exp.In, exp.Case, exp.Nullif, exp.Ordered),
    *(exp.Select, exp.SetOperation, exp.Distinct, exp.Window),
)
"""What compares values."""
_SETS = ("rollup", "cube", "grouping_sets")
Make = Callable[[exp.Expr, ValueTypes], exp.Expr]


def equates_jsonb(node: exp.Expr, types: ValueTypes) -> bool:
    """True for what compares values of jsonb.

    Raises NOT_SUPPORTED for a join that does without saying so in its condition.
    """
    capabilities = types.context.capabilities
    if not (capabilities.normalizes_json or capabilities.postgres_functions):
        return False
    match node:
        case exp.Select():
            _check_joins(node, types)
            return bool(_grouping_terms(node, types)) or _is_distinct(node)
        case exp.SetOperation():
            return _compares_rows(node)
        case exp.Distinct():
            is_clause = isinstance(node.parent, exp.Select)
            return not is_clause and _any_jsonb(node.expressions, types)
        case exp.Window():
            return _any_jsonb(node.args.get("partition_by") or [], types)
        case exp.Ordered():
            return not _is_plain_term(node) and _is_jsonb(_sort_value(node), types)
    return not is_assignment(node) and any(_any_jsonb(c, types) for c in _compared_values(node))


def _is_plain_term(node: exp.Ordered) -> bool:
    """True for a term of an index that compares nothing, and is kept as it is written."""
    create = node.find_ancestor(exp.Create)
    is_term = isinstance(node.parent, exp.IndexParameters)
    return is_term and create is not None and not create.args.get("unique")


def equate_jsonb(holder: exp.Expr, types: ValueTypes) -> None:
    """Compare by what says which values are equal, everywhere in a tree."""
    for node in reversed(list(holder.find_all(*KINDS))):
        if not equates_jsonb(node, types):
            continue
        match node:
            case exp.Select():
                _group(node, types)
                if _is_distinct(node):
                    _make_distinct(node, types)
            case exp.SetOperation():
                for side in (node.this, node.expression):
                    _make_canonical(side, types)
            case exp.Distinct():
                is_counted = isinstance(node.parent, exp.Count)
                _replace_each(node.expressions, types, key_of if is_counted else canonical)
            case exp.Window():
                _replace_each(node.args["partition_by"], types, key_of)
            case exp.Ordered():
                node.this.replace(place_of(_sort_value(node), types))
            case exp.Nullif():
                _compare_first(node, types)
            case _:
                _compare(node, types)


def _is_jsonb(value: exp.Expr, types: ValueTypes) -> bool:
    """True for jsonb; raises UNKNOWN_FUNCTION for json, of which PostgreSQL compares nothing."""
    if not is_jsonb(value, types):
        return False
    if types.of(value).spelled == AS_WRITTEN:
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            "operator does not exist: json = json",
            advice="cast the value to jsonb, whose values are compared and ordered",
            position=position_of(value),
        )
    return True


def _any_jsonb(values: list[exp.Expr], types: ValueTypes) -> bool:
    return any(_is_jsonb(value, types) for value in values)


def _compared_values(node: exp.Expr) -> list[list[exp.Expr]]:
    """The values that are compared with each other; of rows, those in each of their places."""
    if isinstance(node, exp.Case):
        whens = [branch.this for branch in node.args["ifs"]]
        return [] if node.this is None else [[node.this, *whens]]
    if isinstance(node, exp.Between):
        return [[node.this, node.args["low"], node.args["high"]]]
    sides = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]
    sides = [side.unnest() for side in sides if side is not None]
    if not all(isinstance(side, exp.Tuple) for side in sides):
        return [sides]
    return [list(values) for values in zip(*(side.expressions for side in sides), strict=False)]


def _compare(node: exp.Expr, types: ValueTypes) -> None:
    make = place_of if isinstance(node, _ORDERING) else key_of
    for values in _compared_values(node):
        for value in values if _any_jsonb(values, types) else ():
            if isinstance(value, exp.Any | exp.All):
                value.replace(type(value)(this=_keys_of(value.this, types)))
            elif not isinstance(value, exp.Null):
                value.replace(make(value, types))
    query = node.args.get("query")
    if query is not None:
        query.replace(_keys_of(query, types))


def _keys_of(several: exp.Expr, types: ValueTypes) -> exp.Expr:
    """The keys of what a query, or a list, consists of."""
    inner = several.unnest() if isinstance(several, exp.Paren) else several
    inner = inner.this if isinstance(inner, exp.Subquery) else inner
    if not isinstance(inner, exp.Query):
        return exp.paren(keys_of_list(inner, types))
    alias = exp.TableAlias(this=ident("compared"), columns=[ident("value")])
    source = exp.Subquery(this=inner.copy(), alias=alias)
    key = key_of(exp.column("value", "compared"), types)
    return exp.Subquery(this=exp.Select(expressions=[key]).from_(source))


def _compare_first(node: exp.Nullif, types: ValueTypes) -> None:
    """``nullif(j, k)``, which gives its first value, not the key of it."""
    same = exp.EQ(this=key_of(node.this, types), expression=key_of(node.expression, types))
    made = exp.Case(ifs=[exp.If(this=same, true=exp.Null())], default=node.this.copy())
    _put_output(node, made, "nullif")


def _replace_each(values: list[exp.Expr], types: ValueTypes, make: Make) -> None:
    for value in values:
        if _is_jsonb(value, types):
            value.replace(make(value, types))


def _compares_rows(node: exp.SetOperation) -> bool:
    return not isinstance(node, exp.Union) or bool(node.args.get("distinct"))


def _is_distinct(select: exp.Select) -> bool:
    return isinstance(select.args.get("distinct"), exp.Distinct)


def _grouping_terms(select: exp.Select, types: ValueTypes) -> list[exp.Expr]:
    """The terms of GROUP BY, also in ROLLUP and its like, that are JSON."""
    group = select.args.get("group")
    if group is None:
        return []
    sets = [s for part in _SETS for s in group.args.get(part) or ()]
    terms = [*group.expressions, *(t for s in sets for t in s.expressions)]
    terms = [t for term in terms for t in _terms(term)]
    return [term for term in terms if _is_jsonb(_named_output(term, select), types)]


def _terms(term: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(term, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
        for inner in term.expressions:
            yield from _terms(inner)
    else:
        yield term


def _sort_value(term: exp.Ordered) -> exp.Expr:
    """What a term of ORDER BY orders by: an output, if it names one."""
    query = term.parent.parent if isinstance(term.parent, exp.Order) else None
    return _named_output(term.this, query) if isinstance(query, exp.Select) else term.this


def _named_output(term: exp.Expr, select: exp.Select) -> exp.Expr:
    """The output that a term names by its place or its alias; else the term."""
    outputs: list[exp.Expr] = select.expressions
    if isinstance(term, exp.Literal) and term.is_int and 0 < int(term.name) <= len(outputs):
        before = outputs[: int(term.name)]
        return term if any(output.is_star for output in before) else before[-1].unalias()
    if isinstance(term, exp.Column) and not term.table:
        wanted = fold(term.name)
        named = [o for o in outputs if isinstance(o, exp.Alias) and fold(o.alias) == wanted]
        if len(named) == 1:
            return named[0].unalias()
    return term


def _group(select: exp.Select, types: ValueTypes) -> None:
    """Group by keys, and give a value of each group; a canonical one beside ROLLUP and its like."""
    group = select.args.get("group")
    is_plain = group is not None and not any(group.args.get(part) for part in _SETS)
    is_native = types.context.capabilities.postgres_functions
    pairs = [(term, _named_output(term, select).copy()) for term in _grouping_terms(select, types)]
    for term, value in pairs:
        made = grouped_by = canonical(value, types)
        if is_plain and not is_native:
            made, grouped_by = exp.AnyValue(this=value.copy()), key_of(value, types)
        for place in ("expressions", "having", "order", "qualify"):
            part = select.args.get(place)
            for root in part if isinstance(part, list) else [part]:
                for node in list(root.find_all(type(value))) if root is not None else ():
                    if _is_same(node, value) and not _is_aggregated(node, select):
                        _put_output(node, made.copy())
        for output in select.expressions:
            if output.is_star:
                _replace_in_star(output, select, types)
        term.replace(grouped_by)


def _is_same(node: exp.Expr, value: exp.Expr) -> bool:
    if isinstance(node, exp.Column) and isinstance(value, exp.Column):
        tables = {fold(node.table), fold(value.table)} - {""}
        return fold(node.name) == fold(value.name) and len(tables) < 2
    return bool(_bare(node) == _bare(value))


def _bare(value: exp.Expr) -> exp.Expr:
    """The value without brackets."""
    found: exp.Expr = value.copy().transform(lambda node: node.unnest(), copy=False)
    return found


def _is_aggregated(node: exp.Expr, select: exp.Select) -> bool:
    """True within an aggregate, and within a query of its own."""
    call = node.find_ancestor(exp.AggFunc, exp.Select)
    while isinstance(call, exp.AggFunc) and isinstance(call.parent, exp.Window):
        call = call.find_ancestor(exp.AggFunc, exp.Select)
    return isinstance(call, exp.AggFunc) or is_nested(node, select)


def _put_output(value: exp.Expr, made: exp.Expr, name: str = "") -> None:
    """Put a value in the place of another; as an output it keeps the name of a column."""
    made.meta[KIND] = "JSON"
    if isinstance(value.parent, exp.Select) and value.arg_key == "expressions":
        made = exp.Alias(this=made, alias=ident(name or value.output_name or "?column?"))
    value.replace(made)


def _make_distinct(select: exp.Select, types: ValueTypes) -> None:
    """Rows are different by the keys of their values: DISTINCT becomes DISTINCT ON these."""
    distinct, outputs = select.args["distinct"], list(select.expressions)
    on = distinct.args.get("on")
    if on is not None:
        _replace_each(on.expressions if isinstance(on, exp.Tuple) else [on], types, key_of)
    elif types.context.capabilities.postgres_functions or any(o.is_star for o in outputs):
        _make_canonical(select, types)
    elif _any_jsonb(outputs, types):
        keys = [
            key_of(output.unalias(), types)
            if _is_jsonb(output, types)
            else exp.Literal.number(place)
            for place, output in enumerate(outputs, 1)
        ]
        distinct.set("on", exp.Tuple(expressions=keys))


def _make_canonical(query: exp.Expr, types: ValueTypes) -> None:
    """Make the outputs of a query canonical, in place."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        for side in (query.this, query.expression):
            _make_canonical(side, types)
    if not isinstance(query, exp.Select):
        return
    for output in list(query.expressions):
        value = output.unalias()
        if output.is_star:
            _replace_in_star(output, query, types)
        elif _is_jsonb(value, types) and CANONICAL not in value.meta:
            _put_output(value, canonical(value, types))


def _replace_in_star(output: exp.Expr, select: exp.Select, types: ValueTypes) -> None:
    """Make the columns canonical that a star stands for, once."""
    star = output.this if isinstance(output, exp.Column) else output
    if not isinstance(star, exp.Star) or star.args.get("replace"):
        return
    of = fold(output.table) if isinstance(output, exp.Column) else ""
    for source in relations_of(select):
        name = source.alias_or_name
        if of not in {"", fold(name)}:
            continue
        for column in names_of_source(source, types.context):
            value = _seen_in(select, column, name)
            if _is_jsonb(value, types):
                star.append("replace", exp.alias_(canonical(value, types), ident(column)))


def _check_joins(select: exp.Select, types: ValueTypes) -> None:
    for join in select.args.get("joins") or ():
        for column in join.args.get("using") or ():
            name = column.name
            if _is_jsonb(_seen_in(select, name, ""), types):
                raise not_here(
                    column,
                    f"JOIN .. USING a column of jsonb, {name}",
                    f"write ON a.{name} = b.{name}",
                )


def _seen_in(select: exp.Select, name: str, table: str) -> exp.Column:
    """A column as the query sees it."""
    found = exp.column(ident(name), ident(table) if table else None)
    found.parent, found.arg_key = select, "expressions"
    return found
