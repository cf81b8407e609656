"""Choices among values of jsonb and json, of which all are of one type. Pure.

coalesce(j, '{}'), coalesce(j, '[]'::jsonb)       CASE .. THEN j ELSE jsonb_build_object(..) END

PostgreSQL stores keep JSON as json, and their functions give jsonb; DuckDB takes a constant beside
JSON for a text.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.postgres.json.jsonb_forms import respelled
from rewriter.reading.value_types import KIND, ValueTypes, results_of

_JSON = frozenset({exp.DType.JSON, exp.DType.JSONB})
_KINDS = frozenset({"JSON", "JSONB"})


def spell_choice(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """The choice with values of one type; None where none, or not each, is known to be JSON."""
    values = _values(node)
    told = [None if _is_open(value) else types.of(value).kind for value in values]
    kinds = {kind for kind in told if kind is not None}
    if not kinds or not kinds <= _KINDS or all(map(_is_json, values)):
        return None
    made = node.copy()
    made.meta[KIND] = "JSON"
    for value in _values(made):
        if not isinstance(value, exp.Null) and not _is_json(value):
            # exp.cast() takes jsonb for json already.
            value.replace(exp.Cast(this=respelled(value), to=exp.DType.JSON.into_expr()))
    return made


def _values(node: exp.Expr) -> list[exp.Expr]:
    return results_of(node) if isinstance(node, exp.Case) else [node.this, *node.expressions]


def _is_open(value: exp.Expr) -> bool:
    """True for what is of the type of the values beside it."""
    return value.is_string or isinstance(value, exp.Null | exp.Placeholder | exp.Parameter)


def _is_json(value: exp.Expr) -> bool:
    return isinstance(value, exp.Cast) and value.to.this is exp.DType.JSON
