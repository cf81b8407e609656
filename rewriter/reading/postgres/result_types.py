"""Results in the types that PostgreSQL gives them, where a store computes in others. Pure.

avg(i), avg(i) + 1              of whole numbers and NUMERICs: a NUMERIC, which drivers do not round
n / 3, sum(n) / count(*)        the same, also as columns of subqueries and CTEs
sum(i)                          of BIGINTs: a NUMERIC
length(s), ntile(4), d - e      an INTEGER
generate_series(1, 3)           the same, as its bounds are
extract(year FROM d)            a NUMERIC

PostgreSQL's own functions have these types.

Only outputs of the statement itself are cast: within it all numbers compute alike.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from rewriter.reading.postgres.rough_numbers import is_rough
from rewriter.reading.value_kinds import FRACTION, WHOLE_KINDS
from rewriter.reading.value_types import KIND, ValueTypes, results_of
from rewriter.syntax.postgres_names import postgres_name

_WHOLE = WHOLE_KINDS | {"HUGEINT"}
_COUNTED = (exp.Length, exp.StrPosition, exp.ArraySize, exp.Ntile, exp.BitLength)
_COUNTED_BY_NAME = frozenset({"octet_length", "cardinality"})
_SMALL = frozenset({"SMALLINT", "INTEGER", "INT"})
_SUMMED = frozenset({"BIGINT", "HUGEINT"})
_DIGITS, _MEAN_PLACES = 38, 16
_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_WHOLE_DIGITS = 19
_KEEPING = (exp.Neg, exp.Abs, exp.Nullif, exp.Min, exp.Max)
_TO_WHOLE = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc)
_MEAN, _SUM = f"DECIMAL({_DIGITS}, {_MEAN_PLACES})", f"DECIMAL({_DIGITS}, 0)"
_PART = f"DECIMAL({_WHOLE_DIGITS}, 0)"
_WHOLE_PARTS = frozenset(
    (
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "DOW", "ISODOW", "DOY"),
        *("ISOYEAR", "DECADE", "CENTURY", "MILLENNIUM"),
    )
)
"""Parts of a moment that are whole numbers here."""


def concerns_results(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a query with outputs of another type."""
    return any(_kind_of(output.unalias(), types) is not None for output in _outputs(tree))


def cast_results(tree: exp.Expr, types: ValueTypes) -> None:
    """Cast these outputs, in place."""
    for output in list(_outputs(tree)):
        value = output.unalias()
        kind = _kind_of(value, types)
        if kind is None or _is_ordered_by(output, value):
            continue
        is_mean = kind not in {_SUM, _PART, "INTEGER"}
        shown = exp.cast(value.copy(), "VARCHAR", dialect="duckdb") if is_mean else value
        made = exp.cast(shown.copy(), kind, dialect="duckdb")
        made.meta[KIND] = kind
        name = output.alias or postgres_name(value) or "?column?"
        output.replace(exp.Alias(this=made, alias=ident(name)))


def _is_ordered_by(output: exp.Expr, value: exp.Expr) -> bool:
    """True for an expression by which distinct rows are ordered, which must be among them."""
    query = output.parent
    order = query.args.get("order") if query is not None and query.args.get("distinct") else None
    return order is not None and any(part.this == value for part in order.expressions)


def _outputs(tree: exp.Expr) -> list[exp.Expr]:
    query = tree.expression if isinstance(tree, exp.Create) else tree
    if not isinstance(query, exp.Select):
        return []
    inner = _all_of(query)
    return query.expressions if inner is None else _outputs(inner)


def _all_of(query: exp.Select) -> exp.Expr | None:
    """The query of which another one gives all columns as they are; None if there is none."""
    source = query.args.get("from_")
    is_all = len(query.expressions) == 1 and type(query.expressions[0]) is exp.Star
    if not is_all or source is None or query.args.get("joins") or query.args.get("laterals"):
        return None
    if isinstance(source.this, exp.Subquery):
        return source.this.unnest()
    if not isinstance(source.this, exp.Table) or not is_cte(source.this):
        return None
    named = source.this.name
    others = [table for table in query.root().find_all(exp.Table) if table.name == named]
    ctes = [cte for cte in query.ctes if cte.alias == named]
    return ctes[0].this if len(others) == 1 and len(ctes) == 1 else None


def _kind_of(value: exp.Expr, types: ValueTypes) -> str | None:
    """The type to give an output; None for one that has its type."""
    inner = value
    while isinstance(inner, exp.Window | exp.Filter | exp.Paren):
        inner = inner.this
    if types.context.capabilities.postgres_functions:
        return None
    if isinstance(inner, exp.Avg) and not is_rough(inner.this, types):
        return _mean_of(types.of(inner.this).kind or "")
    if isinstance(inner, exp.Sum) and types.of(inner.this).kind in _SUMMED:
        return _SUM
    if isinstance(inner, exp.Sub):
        kinds = [types.of(side).kind for side in (inner.this, inner.expression)]
        if kinds == ["DATE", "DATE"]:
            return "INTEGER"
    if isinstance(inner, _COUNTED) or _is_counted_by_name(inner):
        return "INTEGER"
    if isinstance(inner, exp.ExplodingGenerateSeries):
        bounds = [types.of(bound).kind for bound in inner.iter_expressions()]
        return "INTEGER" if set(bounds) <= _SMALL else None
    if isinstance(inner, exp.Extract) and inner.name.upper() in _WHOLE_PARTS:
        return _PART
    if isinstance(inner, _TO_WHOLE) and not inner.args.get("decimals"):
        return _SUM if is_rough(inner.this, types) else None
    if not is_rough(inner, types):
        return None
    is_quotient = isinstance(inner, exp.Div)
    size = _size(inner.this if is_quotient else inner, types)
    if size is None or is_quotient:
        # It hardly ever has all the digits before the point that its type has room for.
        return _MEAN if size is None or size[0] <= _DIGITS - FRACTION else None
    places = min(_DIGITS - size[0], _MEAN_PLACES)
    return f"DECIMAL({_DIGITS}, {places})" if places > 0 else None


def _is_counted_by_name(value: exp.Expr) -> bool:
    return isinstance(value, exp.Anonymous) and value.name.lower() in _COUNTED_BY_NAME


def _size(value: exp.Expr, types: ValueTypes) -> tuple[int, int] | None:
    """How many digits a NUMERIC has before and behind the point at most; None if not known."""
    if isinstance(value, (*_KEEPING, exp.Window, exp.Filter, exp.Paren)):
        return _size(value.this, types)
    if isinstance(value, exp.Avg):
        mean = _mean_of(types.of(value.this).kind or "")
        return _declared(types.of(value.this).kind or "") if mean is not None else None
    if isinstance(value, exp.Literal) and not value.is_string:
        whole, _, fraction = value.name.partition(".")
        return (len(whole), len(fraction)) if (whole + fraction).isdigit() else None
    if isinstance(value, exp.Coalesce | exp.Greatest | exp.Least | exp.Case):
        parts = results_of(value) if isinstance(value, exp.Case) else [*value.iter_expressions()]
    elif isinstance(value, exp.Add | exp.Sub | exp.Mul):
        parts = [value.this, value.expression]
    else:
        return _declared(types.of(value).kind or "")
    sizes = [_size(part, types) for part in parts if not isinstance(part, exp.Null)]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return None
    if isinstance(value, exp.Mul):
        return sum(whole for whole, _ in known), sum(places for _, places in known)
    more = 1 if isinstance(value, exp.Add | exp.Sub) else 0
    return max(whole for whole, _ in known) + more, max(places for _, places in known)


def _declared(kind: str) -> tuple[int, int] | None:
    """The same of a type that says so."""
    if kind in _WHOLE:
        return _WHOLE_DIGITS, 0
    found = _DECIMAL.fullmatch(kind)
    return None if found is None else (int(found[1]) - int(found[2]), int(found[2]))


def _mean_of(kind: str) -> str | None:
    """The NUMERIC that takes a mean of such numbers; None where none is sure to."""
    if kind in _WHOLE:
        return _MEAN
    digits, _, fraction = kind.removeprefix("DECIMAL(").rstrip(")").partition(",")
    if not kind.startswith("DECIMAL(") or not digits.isdigit():
        return None
    places = _DIGITS - int(digits) + int(fraction or 0)
    return f"DECIMAL({_DIGITS}, {min(places, _MEAN_PLACES)})" if places > 0 else None
