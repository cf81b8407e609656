"""Lists of whole numbers of several widths in DuckDB's dialect on a PostgreSQL store. Pure.

l || k                                     NULL, if one of them is
l = [1], l || [1], CASE .. THEN l ELSE [1] END    of the wider type, which PostgreSQL does not find
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.duckdb_types import WHOLE, DuckDBTypes

MIXED = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Case, exp.Coalesce),
    *(exp.ArrayConcat, exp.DPipe, exp.ArrayContainsAll, exp.ArrayOverlaps),
    exp.Anonymous,
)
_PAIRED = frozenset("list_has_any list_has_all array_has_any array_has_all".split())


def widen_lists(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """An operation on lists that are not of one type."""
    kinds = [_element(value, types) for value in _values(node)]
    known = {kind for kind in kinds if kind}
    if len(known) < 2:
        return None
    widest = max(known, key=WHOLE.index)
    made = node.copy()
    for value, kind in zip(_values(made), kinds, strict=True):
        if kind not in {None, widest}:
            value.replace(exp.cast(value.copy(), f"{widest}[]", dialect="duckdb"))
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
    """The type of the whole numbers in a list; None for all else."""
    kind = types.of(value).kind or ""
    name = {"INT[]": "INTEGER[]"}.get(kind, kind).removesuffix("[]")
    return name if name in WHOLE and kind.endswith("[]") else None
