"""The variables of functions over lists in DuckDB's dialect. Pure.

list_transform(l, lambda x, i: ..)    x is an element of l, and i its place
[.. for x in l if ..]                 likewise
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.lowering.list_calls import TRANSFORMS

_PLACE = "BIGINT"


def variable_of(node: exp.Identifier | exp.Column) -> exp.Expr | str | None:
    """The list of whose elements a name stands for one, the type of a place, or None."""
    if node.args.get("table") is not None or isinstance(node.parent, exp.Column | exp.Lambda):
        return None
    name = fold(node.name)
    inner: exp.Expr = node
    around = node.parent
    while around is not None and not isinstance(around, exp.Query):
        if isinstance(around, exp.Lambda):
            names = [fold(variable.name) for variable in around.expressions]
            if name in names:
                return _list_under(around) if names[0] == name else _PLACE
        if isinstance(around, exp.Comprehension) and inner is not around.args.get("iterator"):
            if fold(around.expression.name) == name:
                return around.args.get("iterator")
        inner, around = around, around.parent
    return None


def _list_under(function: exp.Lambda) -> exp.Expr | None:
    """The list that a function with one variable, or with the place behind it, goes over."""
    call = function.parent
    if isinstance(call, exp.Anonymous) and call.name.lower() in TRANSFORMS:
        found = call.expressions[0]
    elif isinstance(call, exp.Transform | exp.ArrayFilter):
        found = call.this
    else:
        return None
    return found if isinstance(found, exp.Expr) else None
