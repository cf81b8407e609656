"""Casts of values that PostgreSQL has, and other stores lack or read otherwise. Pure.

s::boolean          any beginning of true, yes, on, false, no and off, also of a computed text
t::interval         of a time of day
i::time             of an interval: what it has of a day beside its days and months
'P1DT2H'::text::interval
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from journal.sql.interval_text import plain_interval
from rewriter.reading.value_types import ValueTypes

_TEXTS = frozenset({"VARCHAR", "TEXT"})
_TRUTH = (
    "CASE WHEN lower(trim(x)) IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1') THEN TRUE"
    " WHEN lower(trim(x)) IN ('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0')"
    " THEN FALSE ELSE CAST(x AS BOOLEAN) END"
)


def spell_value_cast(cast: exp.Cast, types: ValueTypes) -> exp.Expr | None:
    """What means the same as such a cast; None for any other."""
    kind, to = types.of(cast.this).kind, cast.to.this
    if to is exp.DType.BOOLEAN and kind in _TEXTS:
        return fill(_TRUTH, x=cast.this)
    if to is exp.DType.INTERVAL and kind == "TIME":
        return fill("to_microseconds(epoch_us(x))", x=cast.this)
    if to is exp.DType.TIME and kind == "INTERVAL":
        return exp.paren(fill("TIME '00:00:00' + x", x=exp.paren(cast.this.copy())))
    if to is exp.DType.INTERVAL and kind in _TEXTS:
        inner = cast.this.unnest()
        text = inner.this if isinstance(inner, exp.Cast) else inner
        plain = plain_interval(text.name) if text.is_string else None
        if plain is not None:
            return exp.cast(exp.Literal.string(plain), "INTERVAL", dialect="duckdb")
    return None
