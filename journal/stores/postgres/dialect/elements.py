"""Functions of lists that PostgreSQL has under another name or form. Pure.

A list is an array there. What looks at its elements is a query over them.
"""

from __future__ import annotations

from functools import partial

import sqlglot
from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused, template

_template = partial(template, "postgres")
_COUNTED = "palimpsest_counted"
"""Marks an element whose place counts from the list's beginning."""
_GENERATOR = sqlglot.Dialect.get_or_raise("postgres").generator()


def _in_list(node: exp.Expr) -> exp.Expr | None:
    """A value in a list is found or not, whatever NULLs the list has."""
    held = node.args.get("field")
    if held is None and any(node.args.get(part) for part in ("expressions", "query", "unnest")):
        return None
    if held is None or (isinstance(held, exp.Array) and not held.expressions):
        return fill("(CASE WHEN NOT x IS NULL THEN FALSE END)", x=node.this)
    found = "(CASE WHEN NOT x IS NULL AND NOT l IS NULL THEN COALESCE(x = is_any, FALSE) END)"
    return fill(found, x=node.this, l=held, is_any=call("ANY", held))


_TYPING = (
    *(exp.Coalesce, exp.EQ, exp.NEQ, exp.Tuple, exp.ArrayConcat, exp.ArrayAppend, exp.Case),
    *(exp.ArrayPrepend, exp.If),
)
"""Where a list is of the type of what stands beside it."""


_EMPTY = "palimpsest_empty"
_UNEVEN = refused(
    "PostgreSQL",
    "lists with inner lists that are empty or of different lengths",
    "keep each in a row",
)


def _check_inner(node: exp.Expr) -> None:
    """Lists in a list are one array, which has a length in each direction."""
    if any(_EMPTY in part.meta for part in node.expressions):
        _UNEVEN(node)
    inner = [part for part in node.expressions if isinstance(part, exp.Array)]
    if not inner:
        return
    sizes = {len(part.expressions) for part in inner}
    if len(inner) < len(node.expressions) or len(sizes) > 1 or 0 in sizes:
        others = [part for part in node.expressions if not isinstance(part, exp.Array)]
        if len(sizes) > 1 or 0 in sizes or any(isinstance(part, exp.Null) for part in others):
            _UNEVEN(node)


def _empty_list(node: exp.Expr) -> exp.Expr | None:
    """An empty list beside another value is of its type, and else one of whole numbers."""
    if node.expressions:
        _check_inner(node)
        return None
    if isinstance(node.parent, exp.Cast):
        return None
    if isinstance(node.parent, _TYPING):
        return exp.Literal.string("{}")
    made = exp.cast(node.copy(), "INT[]", dialect="postgres")
    # As an element it would not be there: an array of empty arrays is empty.
    made.meta[_EMPTY] = True
    return made


def _index(node: exp.Expr) -> exp.Expr | None:
    """Elements are counted from the end by what is below zero, and by a row's own number.

    PostgreSQL takes the element of what a call gives only behind parentheses.
    """
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(place, exp.Slice):
        return _slice(node, place)
    if place is None or isinstance(place, exp.Literal):
        if isinstance(node.this, exp.Func):
            node.set("this", exp.Paren(this=node.this))
        return None
    if _COUNTED in node.meta:
        return None
    assert isinstance(node, exp.Bracket)
    # What sqlglot has taken from the number, if its type was plain, is in it again.
    (number,) = _GENERATOR.bracket_offset_expressions(node)
    return _at(node.this, number)


def _at(held: exp.Expr, number: exp.Expr) -> exp.Expr:
    """The element of a list at a place."""
    counted = number.copy() if isinstance(number, exp.Literal) else _counted(held, number)
    made = exp.Bracket(this=exp.Paren(this=held.copy()), expressions=[counted], offset=1)
    made.meta[_COUNTED] = True
    return made


def _counted(held: exp.Expr, number: exp.Expr) -> exp.Expr:
    """A place in a list, counted from its end where it is below zero."""
    from_end = "CASE WHEN (n) < 0 THEN size + 1 + (n) ELSE n END"
    return fill(from_end, n=number, size=_length(held))


def _length(of: exp.Expr) -> exp.Expr:
    """How many elements a list has."""
    return call("length", of)


def _array_size(node: exp.Expr) -> exp.Expr | None:
    """Without a dimension an empty list has none of them, and not NULL."""
    return None if node.args.get("expression") else _length(node.this)


def _contains(node: exp.Expr) -> exp.Expr | None:
    """A list that is NULL is not known to have anything, nor anything to have NULL."""
    # Compared first: from that the server learns the type of a parameter.
    found = "(CASE WHEN x = is_any THEN TRUE WHEN l IS NULL OR x IS NULL THEN NULL ELSE FALSE END)"
    return fill(found, x=node.expression, l=node.this, is_any=call("ANY", node.this))


_STEPS = refused("PostgreSQL", "parts of lists in steps", "unnest the list WITH ORDINALITY")


def _slice(node: exp.Expr, place: exp.Slice) -> exp.Expr | None:
    """Ends of a part are counted from the end of the list where they are below zero."""
    if place.args.get("step") is not None:
        return _STEPS(node)
    for name in ("this", "expression"):
        bound = place.args.get(name)
        if bound is None or isinstance(bound, exp.Literal):
            continue
        place.set(name, _counted(node.this, bound))
    node.set("this", exp.Paren(this=node.this))
    return None


def _element_query(value: str, more: str = "") -> Change:
    """One value of the elements ``v`` of a list, at their places ``n``."""
    rows = "FROM UNNEST(x) WITH ORDINALITY AS u(v, n)"
    return _template(f"(SELECT {value} {rows} {more})", "x")


def _listed(query: str) -> Change:
    """A list of what a query finds; NULL of a list that is NULL."""
    return _template(f"CASE WHEN NOT x IS NULL THEN ARRAY({query}) END", "x")


def _if_known(value: str) -> Change:
    """The same of a list that is not NULL."""
    query = f"(SELECT {value} FROM UNNEST(x) AS u(v))"  # noqa: S608 - constants
    return _template(f"CASE WHEN NOT x IS NULL THEN {query} END", "x")


def _element(node: exp.Expr) -> exp.Expr | None:
    """An element by its place, as in brackets."""
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 2:
        return None
    return _at(*node.expressions)


def _numbers(node: exp.Expr) -> exp.Expr | None:
    """A list of numbers, or of moments; in FROM they are rows."""
    if isinstance(node.parent, exp.From | exp.Table | exp.Lateral | exp.Join | exp.Alias):
        place = node.parent if not isinstance(node.parent, exp.Alias) else node.parent.parent
        if not isinstance(place, exp.Select):
            return _up_to_end(node)
    rows = exp.Table(this=_up_to_end(node) or node.copy())
    listed = call("ARRAY", exp.select(exp.Star()).from_(rows))
    ends = [part for part in node.iter_expressions() if not _is_constant(part)]
    if not ends:
        return listed
    is_null = exp.or_(*(exp.Is(this=part.copy(), expression=exp.Null()) for part in ends))
    return exp.paren(exp.Case(ifs=[exp.If(this=exp.not_(is_null), true=listed)]), copy=False)


def _is_constant(node: exp.Expr) -> bool:
    """True for a number or an interval that is written out, and for what makes it a moment."""
    while isinstance(node, exp.Cast | exp.Neg | exp.Paren | exp.Interval):
        node = node.this
    return isinstance(node, exp.Literal)


_SHORT = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MICROSECOND"))


def _up_to_end(node: exp.Expr) -> exp.Expr | None:
    """A series without its end, as ``range`` gives it, as one with the end before that."""
    start, end, step = (node.args.get(name) for name in ("start", "end", "step"))
    if not node.args.get("is_end_exclusive") or start is None or end is None:
        return None
    is_down = isinstance(step, exp.Neg)
    in_time = step.this if isinstance(step, exp.Neg) else step
    one: exp.Expr = exp.Literal.number(1)
    if isinstance(in_time, exp.Interval) or (
        isinstance(in_time, exp.Cast) and in_time.is_type(exp.DType.INTERVAL)
    ):
        one = _SHORT.copy()
        is_down |= isinstance(in_time, exp.Interval) and in_time.name.startswith("-")
    elif step is not None and not isinstance(step, exp.Literal | exp.Neg):
        one = call("short_step", step)
    before = exp.Add if is_down else exp.Sub
    made = node.copy()
    made.set("end", before(this=exp.paren(end.copy(), copy=False), expression=one))
    made.set("is_end_exclusive", None)
    return made


_LIST_FIRST = _element_query("v", "ORDER BY n LIMIT 1")
_DISTINCT = _listed("SELECT DISTINCT v FROM UNNEST(x) AS u(v) WHERE NOT v IS NULL")
_REVERSED = _listed("SELECT v FROM UNNEST(x) WITH ORDINALITY AS u(v, n) ORDER BY n DESC")
_POSITION = _template("ARRAY_POSITION(x, y)", "x", "y")
_HAS_ALL = _template("x @> y", "x", "y")
_HAS_ANY = _template("x && y", "x", "y")
_FLAT = _template("CASE WHEN NOT x IS NULL THEN ARRAY(SELECT UNNEST(x)) END", "x")
_AGGREGATED = {
    "avg": "list_avg", "mean": "list_avg", "sum": "list_sum", "count": "list_count",
    "any_value": "list_any_value", "first": "list_first", "last": "list_last",
    "median": "list_median", "mode": "list_mode", "product": "list_product",
    "bool_and": "list_bool_and", "bool_or": "list_bool_or", "string_agg": "list_string_agg",
}  # fmt: skip
_JOINED = _template(
    "(SELECT STRING_AGG(CAST(v AS TEXT), y ORDER BY n) FROM UNNEST(x) WITH ORDINALITY AS u(v, n))",
    *("x", "y"),
)
_EXTREMES: dict[str, type[exp.Func]] = {"min": exp.ArrayMin, "max": exp.ArrayMax}


def _aggregate(node: exp.Expr) -> exp.Expr | None:
    """``list_aggregate(l, 'sum')`` and its like as the function of that name."""
    match node.expressions:
        case [of, exp.Literal() as name, between] if name.name.lower() == "string_agg":
            return _JOINED(call("", of, between))
        case [of, exp.Literal() as name] if name.name.lower() in _EXTREMES:
            return BY_CLASS[_EXTREMES[name.name.lower()]](call("", of))
        case [of, exp.Literal() as name] if name.name.lower() in _AGGREGATED:
            called = _AGGREGATED[name.name.lower()]
            made = call(called, of)
            return BY_NAME[called](made) if called in BY_NAME else made
    return None


def _resized(node: exp.Expr) -> exp.Expr | None:
    """A list of another length; what is added is NULL, or the value that is given."""
    of, size, *value = node.expressions
    return call("list_resize", of, size, *(value or [exp.Null()]))


def _sliced(node: exp.Expr) -> exp.Expr | None:
    return _STEPS(node) if len(node.expressions) > 3 else call("list_slice", *node.expressions)


def _part_of(node: exp.Expr) -> exp.Expr | None:
    ends = [node.args.get(name) or exp.Null() for name in ("start", "end")]
    return _STEPS(node) if node.args.get("step") else call("list_slice", node.this, *ends)


_NEGATIVE = _template("-LIST_DOT_PRODUCT(x, y)", "x", "y")
BY_NAME: dict[str, Change] = {
    "list_slice": _sliced,
    "list_resize": _resized,
    **dict.fromkeys(("list_negative_inner_product", "list_negative_dot_product"), _NEGATIVE),
    "list_inner_product": lambda node: call("list_dot_product", *node.expressions),
    "array_intersect": lambda node: call("list_intersect", *node.expressions),
    "array_select": lambda node: call("list_select", *node.expressions),
    "array_where": lambda node: call("list_where", *node.expressions),
    "array_resize": _resized,
    **dict.fromkeys(
        ("list_aggregate", "array_aggregate", "list_aggr", "array_aggr", "aggregate"), _aggregate
    ),
    "list_sum": _element_query("SUM(v)"),
    "list_avg": _element_query("CAST(AVG(v) AS DOUBLE PRECISION)"),
    "list_count": _if_known("COUNT(v)"),
    "list_unique": _if_known("COUNT(DISTINCT v)"),
    "array_unique": _if_known("COUNT(DISTINCT v)"),
    "list_any_value": _element_query("v", "WHERE NOT v IS NULL ORDER BY n LIMIT 1"),
    "list_first": _LIST_FIRST,
    "list_last": _element_query("v", "ORDER BY n DESC LIMIT 1"),
    "list_string_agg": _element_query("STRING_AGG(CAST(v AS TEXT), ',' ORDER BY n)"),
    "list_reverse": _REVERSED,
    "array_distinct": _DISTINCT,
    "list_position": _POSITION,
    "list_indexof": _POSITION,
    "array_indexof": _POSITION,
    "list_has_all": _HAS_ALL,
    "array_has_all": _HAS_ALL,
    "array_has_any": _HAS_ANY,
    "list_extract": _element,
    "list_element": _element,
    "array_extract": _element,
    "array_push_front": _template("ARRAY_PREPEND(y, x)", "x", "y"),
    "array_to_string_comma_default": _template("ARRAY_TO_STRING(x, ',')", "x"),
    "list_cat": lambda node: exp.ArrayConcat(
        this=node.expressions[0], expressions=node.expressions[1:]
    ),
    "list_pack": lambda node: exp.Array(expressions=list(node.expressions)),
}
BY_CLASS: dict[type[exp.Expr], Change] = {
    exp.Array: _empty_list,
    exp.ArrayContains: _contains,
    exp.ArrayDistinct: _DISTINCT,
    exp.ArrayMax: _element_query("MAX(v)"),
    exp.ArrayMin: _element_query("MIN(v)"),
    exp.ArrayReverse: _REVERSED,
    exp.ArraySize: _array_size,
    exp.ArraySlice: _part_of,
    exp.CosineDistance: _template("1 - LIST_COSINE_SIMILARITY(x, y)", "x", "y"),
    exp.EuclideanDistance: lambda node: call("list_distance", node.this, node.expression),
    exp.Bracket: _index,
    exp.Flatten: _FLAT,
    exp.GenerateSeries: _numbers,
    exp.In: _in_list,
}
