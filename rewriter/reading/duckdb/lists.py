"""Lists of numbers of several types in DuckDB's dialect on a PostgreSQL store. Pure.

l || k                                     NULL, if one of them is
unnest([[1], [2]])                         its lists, not the elements of these
l = [1], l || [1], CASE .. THEN l ELSE [1] END    of the wider type, which PostgreSQL does not find
list_has_any(l, [1.5])                     likewise of numbers of any kind
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.types import WHOLE, DuckDBTypes

MIXED = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Case, exp.Coalesce),
    *(exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.ArrayConcat, exp.DPipe, exp.ArrayContainsAll, exp.ArrayOverlaps, exp.ArrayContainedBy),
    exp.Anonymous,
)
_KEPT = (exp.Case, exp.Coalesce, exp.ArrayConcat, exp.DPipe)
"""What gives a list again: of a type that is told of whole numbers alone."""
_PAIRED = frozenset("list_has_any list_has_all array_has_any array_has_all".split())
_NUMBERS = ("BOOLEAN", *WHOLE, "DECIMAL", "FLOAT", "DOUBLE")
"""What is compared as one of the types behind it."""


_OF_NULLS = "NULL"
"""Stands for the elements of a list of nothing but NULL."""


def widen_lists(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An operation on lists that are not of one type."""
    kinds = [_element(value, types) for value in _values(node)]
    known = {kind for kind in kinds if kind}
    if len(known) < 2 or (isinstance(node, _KEPT) and not known <= {*WHOLE, _OF_NULLS}):
        return None
    widest = max(known - {_OF_NULLS}, key=_NUMBERS.index)
    made = node.copy()
    for value, kind in zip(_values(made), kinds, strict=True):
        if kind not in {None, widest}:
            # A NUMERIC has the digits of each value.
            name = "BIGNUM" if widest == "DECIMAL" else widest
            number = exp.cast(value.copy(), "INT[]") if kind == "BOOLEAN" else value.copy()
            value.replace(exp.Cast(this=number, to=exp.DataType.build(f"{name}[]", "duckdb")))
    return made


def join_lists(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``l || k``, which PostgreSQL takes for the other one where one is NULL."""
    both = (node.this, node.expression)
    sides = [side for side in both if not isinstance(side, exp.Array)]
    if not sides or not any((types.of(side).kind or "").endswith("[]") for side in both):
        return None
    joined = widen_lists(node, types) or node.copy()
    is_null = exp.or_(*(exp.Is(this=side.copy(), expression=exp.Null()) for side in sides))
    return exp.Case(ifs=[exp.If(this=exp.not_(is_null), true=joined)])


def _values(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Case):
        found = [*(part.args.get("true") for part in node.args["ifs"]), node.args.get("default")]
    elif isinstance(node, exp.Anonymous):
        found = node.expressions if node.name.lower() in _PAIRED else []
    elif isinstance(node, exp.In | exp.Coalesce | exp.ArrayConcat):
        found = [node.this, *node.expressions]
    else:
        found = [node.this, node.args.get("expression")]
    return [value for value in found if isinstance(value, exp.Expr)]


def _element(value: exp.Expr, types: DuckDBTypes) -> str | None:
    """The type of the numbers in a list, without digits; None for all else."""
    if isinstance(value, exp.Array) and value.expressions:
        if all(isinstance(part, exp.Null) for part in value.expressions):
            return _OF_NULLS
    kind, is_list, rest = (types.of(value).kind or "").partition("[")
    name = {"INT": "INTEGER", "REAL": "FLOAT"}.get(kind, kind).partition("(")[0]
    return name if name in _NUMBERS and is_list and rest.count("]") == 1 else None


def spell_elements(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The elements of NULL, of which PostgreSQL asks the type, and the lists in a list."""
    value = node.this if isinstance(node, exp.Explode) else node.expressions[0]
    made: exp.Expr = node.copy()
    if isinstance(node, exp.Explode) and any(_is_recursive(e) for e in node.expressions):
        made.set("expressions", None)
        return made
    if (types.of(value).kind or "").endswith("[][]"):
        return _inner_lists(node)
    if not isinstance(value, exp.Null):
        return None
    none = exp.cast(exp.Null(), "INT[]", dialect="duckdb")
    made.set(*(("this", none) if isinstance(node, exp.Explode) else ("expressions", [none])))
    return made


def _inner_lists(node: exp.Expr) -> exp.Expr:
    """The lists in a list; raises NOT_SUPPORTED where they are rows of FROM."""
    if isinstance(node, exp.Explode):
        return call("inner_lists", node.this)
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        "a PostgreSQL store has no unnest of a list of lists in FROM",
        advice="write it as an output of a query: SELECT unnest(l)",
        position=position_of(node),
    )


def _is_recursive(argument: exp.Expr) -> bool:
    """True for ``recursive := true``, as which PostgreSQL takes any list apart."""
    is_told = isinstance(argument, exp.PropertyEQ) and argument.name.lower() == "recursive"
    return is_told and isinstance(argument.expression, exp.Boolean) and argument.expression.this
