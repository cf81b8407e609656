"""Values of JSON of which a function of PostgreSQL takes objects alone, or arrays. Pure.

jsonb_array_elements(j)    of an object: cannot extract elements from an object
json_each(j)               of an array: cannot deconstruct an array as an object

What stores have of these functions gives no rows, or NULL, for another kind of value.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.functions import function_name

_OBJECT, _ARRAY = "OBJECT", "ARRAY"
_GUARD = (
    "CASE json_type(CAST(j AS JSON)) WHEN wanted THEN CAST(j AS JSON)"
    " WHEN other THEN CAST(error(wrong) AS JSON)"
    " WHEN json_type(CAST(j AS JSON)) THEN CAST(error(scalar) AS JSON) END"
)
_COUNTED = "cannot get array length of a"
_CALLED = "cannot call {name} on a"
_TAKEN: Mapping[str, tuple[str, str, str]] = {
    "json_array_length": (_ARRAY, f"{_COUNTED} non-array", f"{_COUNTED} scalar"),
    "jsonb_array_length": (_ARRAY, f"{_COUNTED} non-array", f"{_COUNTED} scalar"),
    "json_object_keys": (_OBJECT, f"{_CALLED}n array", f"{_CALLED} scalar"),
    "jsonb_object_keys": (_OBJECT, f"{_CALLED}n array", f"{_CALLED} scalar"),
    "json_array_elements": (_ARRAY, f"{_CALLED} non-array", f"{_CALLED} scalar"),
    "jsonb_array_elements": (
        *(_ARRAY, "cannot extract elements from an object"),
        "cannot extract elements from a scalar",
    ),
    "json_each": (
        *(_OBJECT, "cannot deconstruct an array as an object"),
        "cannot deconstruct a scalar",
    ),
    "jsonb_each": (_OBJECT, f"{_CALLED} non-object", f"{_CALLED} non-object"),
}
"""The kind of value that a function takes, and what it says of the other kind and of scalars."""


CALLED = "palimpsest_called"
"""Where a call's meta data keep the name of the function that it is a part of."""


def guarded(value: exp.Expr, node: exp.Expr) -> exp.Expr:
    """JSON of the kind that a function takes; the store fails at a value of another."""
    name = node.meta.get(CALLED) or function_name(node)
    wanted, *said = _TAKEN[name.removesuffix("_text")]
    wrong, scalar = (text.format(name=name) for text in said)
    other = _ARRAY if wanted == _OBJECT else _OBJECT
    return fill(_GUARD, j=value, wanted=wanted, other=other, wrong=wrong, scalar=scalar)
