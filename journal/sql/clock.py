"""``now()``, CURRENT_DATE and their like: moments of the transaction, not of the store. Pure.

A transaction of the gateway is several of the store, so that each statement is given the moment at
which the client's transaction began; ``statement_timestamp()`` is that of the statement.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.plan import P_NOW, P_STATEMENT_TIME
from journal.model.trees import Nodes

STATEMENT_TIMESTAMP = "statement_timestamp"
_MOMENT, _DATE = (exp.DType.TIMESTAMPTZ,), (exp.DType.TIMESTAMPTZ, exp.DType.DATE)
_LOCAL_MOMENT = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMP)
_LOCAL_TIME = (*_LOCAL_MOMENT, exp.DType.TIME)
_KINDS: Mapping[type[exp.Expr], tuple[exp.DType, ...]] = {
    exp.CurrentTimestamp: _MOMENT,
    exp.CurrentDate: _DATE,
    exp.CurrentTime: (exp.DType.TIMESTAMPTZ, exp.DType.TIMETZ),
    exp.Localtimestamp: _LOCAL_MOMENT,
    exp.Localtime: _LOCAL_TIME,
}
"""The casts that make a word's value of a moment, the first one innermost."""
_CALLS: Mapping[str, tuple[exp.DType, ...]] = {
    **dict.fromkeys(("now", "transaction_timestamp", "get_current_timestamp"), _MOMENT),
    STATEMENT_TIMESTAMP: _MOMENT,
    "current_localtime": _LOCAL_TIME,
}
CLOCK_KINDS = tuple(_KINDS)


def reads_clock(node: exp.Expr) -> bool:
    """True for a call whose value is a moment of the transaction or the statement."""
    return _casts(node) is not None


def name_moments(nodes: Nodes) -> None:
    """Put a parameter in the place of each such call among a query's nodes."""
    kinds: tuple[type[exp.Expr], ...] = (*CLOCK_KINDS, exp.Anonymous)
    for node in [node for kind in kinds for node in nodes.all(kind)]:
        casts = _casts(node)
        if casts is not None:
            node.replace(_moment(node, casts))


def _moment(node: exp.Expr, casts: tuple[exp.DType, ...]) -> exp.Expr:
    is_of_statement = isinstance(node, exp.Anonymous) and node.name.lower() == STATEMENT_TIMESTAMP
    made: exp.Expr = exp.Placeholder(this=P_STATEMENT_TIME if is_of_statement else P_NOW)
    for kind in casts:
        made = exp.Cast(this=made, to=exp.DataType(this=kind))
    return made


def _casts(node: exp.Expr) -> tuple[exp.DType, ...] | None:
    if isinstance(node, exp.Anonymous):
        return None if node.expressions else _CALLS.get(str(node.this).lower())
    return None if node.this is not None else _KINDS.get(type(node))
