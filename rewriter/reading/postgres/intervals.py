"""``make_interval`` of PostgreSQL, for stores that lack it. Pure.

make_interval(days => n, hours := 2)   a sum of an interval for each part
make_interval()                        no time at all
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.sql.builders import call
from rewriter.name_resolution import position_of
from rewriter.reading.value_types import ValueTypes

_MAKERS = {
    name: f"to_{name}s" for name in ("year", "month", "week", "day", "hour", "minute", "second")
}
"""What makes an interval of a number, by the part that the parser places it at."""
_NAMES = {
    "years": "year", "months": "month", "weeks": "week", "days": "day", "hours": "hour",
    "mins": "minute", "secs": "second",
}  # fmt: skip
"""What PostgreSQL calls the parts."""


def spell_made_interval(node: exp.Expr) -> exp.Expr | None:
    """What such a call makes; None for constants in their places, which every store takes.

    Raises UNKNOWN_FUNCTION for a name that no part has.
    """
    parts = {name: node.args[name] for name in _MAKERS if node.args.get(name) is not None}
    if parts and all(isinstance(value, exp.Literal) for value in parts.values()):
        return None
    total: exp.Expr | None = None
    for place, value in parts.items():
        name, amount = place, value
        if isinstance(value, exp.Kwarg | exp.PropertyEQ):
            name, amount = _NAMES.get(fold(value.this.name), ""), value.expression
        if not name:
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f'make_interval has no argument "{value.this.name}"',
                advice="its arguments are " + ", ".join(_NAMES),
                position=position_of(value),
            )
        one = call(_MAKERS[name], amount)
        total = one if total is None else exp.Add(this=total, expression=one)
    return exp.paren(call("to_days", 0) if total is None else total)


def spell_frame(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``RANGE '1 day' PRECEDING`` of rows in the order of a moment; None for other frames."""
    window = node.parent
    order = window.args.get("order") if window is not None else None
    if order is None or len(order.expressions) != 1:
        return None
    if not (types.of(order.expressions[0].this).kind or "").startswith(
        ("DATE", "TIME", "INTERVAL")
    ):
        return None
    ends = {name: node.args.get(name) for name in ("start", "end")}
    texts = {n: e for n, e in ends.items() if isinstance(e, exp.Literal) and e.is_string}
    if not texts:
        return None
    made = node.copy()
    for name, text in texts.items():
        made.set(name, exp.cast(text.copy(), "INTERVAL", dialect="duckdb"))
    return made
