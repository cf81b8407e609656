"""Functions of arrays that go by the number of dimensions, or by a place, on other stores. Pure.

cardinality(a)              the elements of all dimensions
array_dims(a)               [1:2][1:3]
array_length(a, 3)          NULL where there are no three dimensions
array_cat(a, b)             an array beside one of more dimensions is an element of it
array_position(a, x, 3)     from the third place on
width_bucket(x, a)          how many of the lower bounds are reached
ARRAY[[1], [2, 3]]          no array, as its rows are not of one length
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of
from rewriter.reading.value_types import ValueTypes

_POSITION = "NULLIF(list_position(list_slice(a, n, len(a)), x), 0) + n - 1"
_BUCKET = (
    "CASE WHEN len(list_filter(a, LAMBDA e: e IS NULL)) > 0"
    " THEN error('thresholds array must not contain NULLs')"
    " WHEN x IS NOT NULL THEN CAST(len(list_filter(a, LAMBDA e: e <= x)) AS INTEGER) END"
)


def dimensions(value: exp.Expr, types: ValueTypes) -> int:
    """How many dimensions an array is known to have; 0 if that is not known."""
    kind = types.of(value).kind or ""
    return kind.count("[") if kind.endswith("[]") else 0


def check_dimensions(node: exp.Expr, _: ValueTypes) -> None:
    """Raise ARRAY_SIZES for an array that is written out, and whose parts differ in length."""
    rows = [row for row in node.expressions if isinstance(row, exp.Array)]
    if len({_shape(row) for row in rows}) > 1:
        raise PalimpsestError(
            Code.ARRAY_SIZES,
            "multidimensional arrays must have array expressions with matching dimensions",
            advice="give each part as many elements, NULL for those that lack",
            position=position_of(node),
        )


def _shape(array: exp.Expr) -> tuple[int, ...]:
    """How many elements an array has, and the first of them, and so on."""
    if not isinstance(array, exp.Array):
        return ()
    return (len(array.expressions), *(_shape(array.expressions[0]) if array.expressions else ()))


def spell_cardinality(array: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``cardinality(a)`` of several dimensions; None for others."""
    depth = dimensions(array, types)
    if depth < 2:
        return None
    flat = array
    for _ in range(depth - 1):
        flat = call("flatten", flat)
    return fill("CAST(len(a) AS INTEGER)", a=flat)


def spell_dims(array: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``array_dims(a)`` of several dimensions; None for others."""
    depth = dimensions(array, types)
    if depth < 2:
        return None
    parts, inner = [], array
    for _ in range(depth):
        parts.append(fill("'[1:' || CAST(len(a) AS VARCHAR) || ']'", a=inner))
        inner = fill("list_extract(a, 1)", a=inner)
    whole: exp.Expr = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return fill("CASE WHEN len(a) > 0 THEN dims END", a=array, dims=whole)


def spell_ndims(array: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``array_ndims(a)`` of a known type; None for others."""
    depth = dimensions(array, types)
    return fill("CASE WHEN len(a) > 0 THEN n END", a=array, n=depth) if depth else None


def spell_length(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``array_length(a, n)`` for more dimensions than there are; None for others."""
    wanted, depth = node.args.get("expression"), dimensions(node.this, types)
    is_beyond = wanted is not None and wanted.is_int and 0 < depth < int(wanted.name)
    return exp.cast(exp.null(), "INTEGER", dialect="duckdb") if is_beyond else None


def spell_concatenation(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``array_cat(a, b)`` of an array and one with a dimension more; None for others."""
    others = node.expressions
    if len(others) != 1:
        return None
    left, right = dimensions(node.this, types), dimensions(others[0], types)
    if left and right == left + 1:
        return exp.ArrayPrepend(this=others[0].copy(), expression=node.this.copy())
    if right and left == right + 1:
        return exp.ArrayAppend(this=node.this.copy(), expression=others[0].copy())
    return None


def spell_position(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``array_position(a, x, n)``; None without a place to begin."""
    start = node.args.get("zero_based")  # as the parser calls it
    if start is None:
        return None
    parts = {"a": node.this, "x": node.expression, "n": exp.paren(start.copy())}
    return fill(_POSITION, **parts)


def native_position(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """The same where PostgreSQL has it."""
    start = node.args.get("zero_based")
    return None if start is None else call("array_position", node.this, node.expression, start)


def native_list(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``l @> ?``: a parameter beside a list is one of its type, whatever numbers it holds."""
    for name, other in (("this", node.expression), ("expression", node.this)):
        kind = types.of(other).kind or ""
        if isinstance(node.args[name], exp.Placeholder) and kind.endswith("[]"):
            made = node.copy()
            made.set(name, exp.cast(node.args[name].copy(), kind, dialect="duckdb"))
            return made
    return None


def spell_bucket(node: exp.Expr, _: ValueTypes) -> exp.Expr | None:
    """``width_bucket(x, a)`` of an array of bounds; None for the one of a number of buckets."""
    bounds = node.args.get("threshold")
    return None if bounds is None else fill(_BUCKET, x=exp.paren(node.this.copy()), a=bounds)
