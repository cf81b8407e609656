"""Results in the types that PostgreSQL gives them, where a store computes in others. Pure.

avg(i)                          of whole numbers and NUMERICs: a NUMERIC, which drivers do not round
sum(i)                          of BIGINTs: a NUMERIC
length(s), ntile(4), d - e      an INTEGER

PostgreSQL's own functions have these types.

Only outputs of the statement itself are cast: within it all numbers compute alike.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.relations import ident
from rewriter.reading.value_kinds import WHOLE_KINDS
from rewriter.reading.value_types import KIND, ValueTypes
from rewriter.syntax.postgres_names import postgres_name

_WHOLE = WHOLE_KINDS | {"HUGEINT"}
_COUNTED = (exp.Length, exp.StrPosition, exp.ArraySize, exp.Ntile)
_SUMMED = frozenset({"BIGINT", "HUGEINT"})
_DIGITS, _MEAN_PLACES = 38, 16
_MEAN, _SUM = f"DECIMAL({_DIGITS}, {_MEAN_PLACES})", f"DECIMAL({_DIGITS}, 0)"


def concerns_results(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a query with outputs of another type."""
    return any(_kind_of(output.unalias(), types) is not None for output in _outputs(tree))


def cast_results(tree: exp.Expr, types: ValueTypes) -> None:
    """Cast these outputs, in place."""
    for output in list(_outputs(tree)):
        value = output.unalias()
        kind = _kind_of(value, types)
        if kind is None:
            continue
        is_mean = kind not in {_SUM, "INTEGER"}
        shown = exp.cast(value.copy(), "VARCHAR", dialect="duckdb") if is_mean else value
        made = exp.cast(shown.copy(), kind, dialect="duckdb")
        made.meta[KIND] = kind
        name = output.alias or postgres_name(value) or "?column?"
        output.replace(exp.Alias(this=made, alias=ident(name)))


def _outputs(tree: exp.Expr) -> list[exp.Expr]:
    query = tree.expression if isinstance(tree, exp.Create) else tree
    return query.expressions if isinstance(query, exp.Select) else []


def _kind_of(value: exp.Expr, types: ValueTypes) -> str | None:
    """The type to give an output; None for one that has its type."""
    inner = value
    while isinstance(inner, exp.Window | exp.Filter | exp.Paren):
        inner = inner.this
    if types.context.capabilities.postgres_functions:
        return None
    if isinstance(inner, exp.Avg):
        return _mean_of(types.of(inner.this).kind or "")
    if isinstance(inner, exp.Sum):
        return _SUM if types.of(inner.this).kind in _SUMMED else None
    if isinstance(inner, exp.Sub):
        kinds = [types.of(side).kind for side in (inner.this, inner.expression)]
        return "INTEGER" if kinds == ["DATE", "DATE"] else None
    return "INTEGER" if isinstance(inner, _COUNTED) else None


def _mean_of(kind: str) -> str | None:
    """The NUMERIC that takes a mean of such numbers; None where none is sure to."""
    if kind in _WHOLE:
        return _MEAN
    digits, _, fraction = kind.removeprefix("DECIMAL(").rstrip(")").partition(",")
    if not kind.startswith("DECIMAL(") or not digits.isdigit():
        return None
    places = _DIGITS - int(digits) + int(fraction or 0)
    return f"DECIMAL({_DIGITS}, {min(places, _MEAN_PLACES)})" if places > 0 else None
