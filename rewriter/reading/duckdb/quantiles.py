"""Medians, quantiles and correlations of DuckDB's dialect on a PostgreSQL store. Pure.

median(d), quantile_cont(d, 0.25)      of DECIMALs: cut off to their digits
median(s)                              quantile_disc(s, 0.5)
quantile_disc(x, 0.5 ORDER BY x DESC)  percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC)
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.types import TEXTS, DuckDBTypes


def spell_correlation(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """``corr``: of values that do not vary it is NaN."""
    if isinstance(node.parent, exp.Filter | exp.Window):
        return None
    counted = call("regr_count", node.this, node.expression)
    return fill(_CORRELATION, found=node, counted=counted)


_CORRELATION = "COALESCE(found, CASE WHEN counted > 0 THEN CAST('NaN' AS DOUBLE) END)"


def spell_deviation(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``mad``: of DECIMALs with their digits."""
    kind = types.of(node.expressions[0]).kind or ""
    return _with_digits(node, kind) if kind.startswith("DECIMAL(") else None


def spell_median(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``median(x)``; of texts and lists it is one of the values."""
    kind = types.of(node.this).kind or ""
    is_one = kind in TEXTS or kind.endswith("[]")
    if is_one and not isinstance(node.parent, exp.Window):
        return exp.PercentileDisc(this=node.this.copy(), expression=exp.Literal.number("0.5"))
    return _with_digits(node, kind)


def spell_quantile(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A quantile of values in the order that ORDER BY within the call gives them."""
    part, kind = node.args.get("expression"), types.of(node.this).kind or ""
    if isinstance(node.parent, exp.WithinGroup):
        return None
    made: exp.Expr = node
    if isinstance(part, exp.Order):
        ordered = exp.Order(expressions=[item.copy() for item in part.expressions])
        made = exp.WithinGroup(this=type(node)(this=part.this.copy()), expression=ordered)
        part = part.this
    cut = None
    if isinstance(node, exp.PercentileCont):
        cut = _with_digits(made, kind, "[]" if isinstance(part, exp.Array) else "")
    return cut or (None if made is node else made)


def spell_within(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``percentile_cont(..) WITHIN GROUP (ORDER BY x)``."""
    quantile = node.this
    if not isinstance(quantile, exp.PercentileCont) or isinstance(quantile.this, exp.Array):
        return None
    return _with_digits(node, types.of(node.expression.expressions[0].this).kind or "")


def _with_digits(node: exp.Expr, kind: str, listed: str = "") -> exp.Expr | None:
    """A value in the middle of DECIMALs with their digits; others are cut off. ``listed``: "[]"
    for several such values.

    Raises NOT_SUPPORTED for moments, between which PostgreSQL finds none.
    """
    if kind.startswith(("TIME", "DATE", "INTERVAL")):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a PostgreSQL store has no moments between others, as median and quantile_cont give",
            advice="take quantile_disc, which gives one of the values",
            position=position_of(node),
        )
    if not kind.startswith("DECIMAL(") or isinstance(node.parent, exp.Window | exp.Filter):
        return None
    to = exp.DataType.build(kind, dialect="duckdb")
    digits = int(to.expressions[1].name) if len(to.expressions) > 1 else 0
    cut = call("trunc", exp.cast(node.copy(), f"BIGNUM{listed}", dialect="duckdb"), digits)
    return exp.Cast(this=cut, to=exp.DataType.build(f"{kind}{listed}", dialect="duckdb"))
