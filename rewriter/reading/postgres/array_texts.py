"""Texts of arrays beside arrays, which are arrays of their type in PostgreSQL. Pure.

a @> '{x}', a && '{x}'
coalesce(a, '{1}'), array_cat(a, '{1}'), CASE .. THEN a ELSE '{}' END
t::int[]     of a computed text
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from journal.sql.builders import fill, variable
from rewriter.reading.postgres.arrays import spell_concatenation
from rewriter.reading.postgres.json.jsonb_choices import spell_choice
from rewriter.reading.postgres.operators import is_array_text, read_array
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


_ELEMENT = r'"(?:[^"\\]|\\.)*"|[^\s,{}"\\][^,{}"\\]*'
_ARRAY = rf"^\s*\{{\s*(?:(?:{_ELEMENT})\s*(?:,\s*(?:{_ELEMENT})\s*)*)?\}}\s*$"
_READ = (
    "CASE WHEN t IS NULL THEN NULL WHEN regexp_matches(t, whole)"
    " THEN list_transform(regexp_extract_all(t, each), LAMBDA e: element)"
    " ELSE malformed END"
)
_MALFORMED = "error('malformed array literal, or one of several dimensions: \"' || t || '\"')"
_VALUE = (
    "CASE WHEN starts_with(e, '\"') THEN"
    " regexp_replace(substring(e, 2, length(e) - 2), '\\\\(.)', '\\1', 'g')"
    " WHEN upper(rtrim(e)) = 'NULL' THEN NULL ELSE rtrim(e) END"
)


def read_computed_array(
    cast: exp.Cast, cast_element: Callable[[exp.Cast], exp.Expr]
) -> exp.Expr | None:
    """The elements of a text that rows compute, each cast by itself.

    None for an array of several dimensions.
    """
    of = cast.to.expressions[0] if cast.to.expressions else None
    if not isinstance(of, exp.DataType) or of.is_type(exp.DType.ARRAY, exp.DType.LIST):
        return None
    value = exp.paren(fill(_VALUE, e=variable("e")), copy=False)
    return fill(
        _READ,
        t=exp.paren(cast.this.copy()),
        whole=exp.Literal.string(_ARRAY),
        each=exp.Literal.string(_ELEMENT),
        element=cast_element(exp.Cast(this=value, to=of.copy())),
        malformed=exp.Cast(this=fill(_MALFORMED, t=exp.paren(cast.this.copy())), to=cast.to.copy()),
    )


def _beside_arrays(node: exp.Expr) -> list[exp.Expr]:
    """Values of which all are of one type, or arrays of one."""
    return results_of(node) if isinstance(node, exp.Case) else [node.this, *node.expressions]
