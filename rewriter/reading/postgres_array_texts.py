"""Texts of arrays beside arrays, which are arrays of their type in PostgreSQL. Pure.

a @> '{x}', a && '{x}'
coalesce(a, '{1}'), array_cat(a, '{1}'), CASE .. THEN a ELSE '{}' END
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.postgres_arrays import spell_concatenation
from rewriter.reading.postgres_jsonb_choices import spell_choice
from rewriter.reading.postgres_operators import is_array_text, read_array
from rewriter.reading.value_types import ValueTypes, results_of


def spell_array_operator(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``a @> '{x}'``: the text beside an array is one of its type."""
    for name, other in (("this", node.expression), ("expression", node.this)):
        kind, text = types.of(other).kind or "", node.args[name]
        if is_array_text(text) and kind.endswith("[]"):
            made = node.copy()
            made.set(name, read_array(text, kind))
            return made
    return None


def spell_alike(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``coalesce(a, '{1}')``, ``array_cat(a, '{1}')``: the text beside an array is one."""
    values = _beside_arrays(node)
    texts = [place for place, value in enumerate(values) if is_array_text(value)]
    kinds = (types.of(value).kind or "" for value in values) if texts else iter(())
    kind = next((kind for kind in kinds if kind.endswith("[]")), None)
    if kind is None:
        is_concat = isinstance(node, exp.ArrayConcat)
        return spell_concatenation(node, types) if is_concat else spell_choice(node, types)
    made = node.copy()
    for place in texts:
        _beside_arrays(made)[place].replace(read_array(values[place], kind))
    return made


def _beside_arrays(node: exp.Expr) -> list[exp.Expr]:
    """Values of which all are of one type, or arrays of one."""
    return results_of(node) if isinstance(node, exp.Case) else [node.this, *node.expressions]
