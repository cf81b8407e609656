"""Values of jsonb by which stores without that type compare them, in DuckDB's SQL. Pure.

canonical   one value for all that are equal, spelled as PostgreSQL spells it
key         a text that is the same for values that are equal
place       what has the order of the values

A store that is PostgreSQL keeps ``json``, and compares jsonb itself: there all three are casts.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import fill, variable
from journal.sql.jsonb_text import jsonb_text
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.json.json import native_jsonb
from rewriter.reading.value_types import ValueTypes

_JSON = "JSON"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_TOKEN = rf"{_TEXT}\s*:?|-?[0-9][0-9.eE+-]*|[a-z]+|[\[\]{{}},]"
_WHOLE = rf"({_TEXT})|-?(0)[.]0([\],}}]|$)|[.]0([\],}}]|$)"
_KEY = (
    "CASE WHEN contains(json_normalize(j), '.0')"
    " THEN regexp_replace(json_normalize(j), p, '\\1\\2\\3\\4', 'g') ELSE json_normalize(j) END"
)
"""Keys are in one order there, and numbers are those of a DOUBLE: what is whole loses its zero."""
_MARKED = (
    "array_to_string(list_transform(regexp_extract_all(CAST(j AS VARCHAR), p), LAMBDA t:"
    " CASE WHEN starts_with(t, '\"') AND ends_with(t, ':') THEN '\"' ||"
    " lpad(CAST(octet_length(encode(json_extract_string(CAST(rtrim(t, ': ') AS JSON), '$')))"
    " AS VARCHAR), 9, '0') || substr(t, 2)"
    " WHEN starts_with(t, '\"') THEN '\"s' || substr(t, 2)"
    " WHEN regexp_matches(t, '^[-0-9]') THEN '\"n' || t || '\"' ELSE t END), '')"
)
"""Keys begin with their lengths, so that they are sorted by them; numbers are texts."""
_NUMBER = (
    "CASE WHEN contains(n, 'e') OR contains(n, 'E')"
    " THEN regexp_replace(json_normalize(CAST(n AS JSON)), '[.]0$', '')"
    " WHEN contains(n, '.') THEN regexp_replace(rtrim(rtrim(n, '0'), '.'), '^-0$', '0')"
    " ELSE n END"
)
_UNMARKED = (
    "CAST(array_to_string(list_transform(regexp_extract_all(m, p), LAMBDA t:"
    " CASE WHEN starts_with(t, '\"') AND ends_with(t, ':') THEN '\"' || substr(t, 11) || ' '"
    " WHEN starts_with(t, '\"s') THEN '\"' || substr(t, 3)"
    " WHEN starts_with(t, '\"n') THEN number WHEN t = ',' THEN ', ' ELSE t END), '') AS JSON)"
)
_CANONICAL = (
    "CASE WHEN json_type(j) = 'NULL' THEN CAST('null' AS JSON) WHEN j IS NOT NULL THEN c END"
)
_SORTED = "json_normalize(CAST(CAST(CAST(m AS JSON) AS VARIANT) AS JSON))"
"""Of keys that stand twice a VARIANT keeps the last."""
_PLACE = (
    "CASE WHEN j IS NOT NULL THEN create_sort_key(struct_pack("
    "kind := CASE json_type(j) WHEN 'NULL' THEN 0 WHEN 'VARCHAR' THEN 1 WHEN 'BOOLEAN' THEN 3"
    " WHEN 'OBJECT' THEN 5 WHEN 'ARRAY' THEN"
    " CASE WHEN json_array_length(j) = 0 THEN -1 ELSE 4 END ELSE 2 END,"
    " size := CASE json_type(j) WHEN 'ARRAY' THEN json_array_length(j)"
    " WHEN 'OBJECT' THEN len(json_keys(j)) ELSE 0 END,"
    " number := TRY_CAST(CASE WHEN json_type(j) NOT IN ('VARCHAR', 'OBJECT', 'ARRAY')"
    " THEN CAST(j AS VARCHAR) END AS DOUBLE),"
    " text := CASE json_type(j) WHEN 'VARCHAR' THEN json_extract_string(j, '$')"
    " ELSE k END), 'ASC NULLS LAST') END"
)


CANONICAL = "palimpsest_canonical"
"""Marks a value that is canonical already."""


def is_jsonb(value: exp.Expr, types: ValueTypes) -> bool:
    """True for a value that is known to be JSON."""
    return types.of(value).kind == _JSON


def canonical(value: exp.Expr, types: ValueTypes) -> exp.Expr:
    """A value of jsonb that is written like all that are equal to it."""
    if types.context.capabilities.postgres_functions:
        made: exp.Expr = _native(value)
    else:
        whole = _json(value)
        number = fill(_NUMBER, n=fill("substr(x, 3, len(x) - 3)", x=variable("t")))
        ordered = fill(_SORTED, m=fill(_MARKED, j=whole, p=_TOKEN))
        spelled = fill(_UNMARKED, m=ordered, p=_TOKEN, number=number)
        made = fill(_CANONICAL, j=whole, c=spelled)
    made.meta[CANONICAL] = True
    return made


def key_of(value: exp.Expr, types: ValueTypes) -> exp.Expr:
    """What is equal for values that are equal."""
    if types.context.capabilities.postgres_functions:
        return _native(value)
    return exp.paren(fill(_KEY, j=_json(value), p=_WHOLE))


def keys_of_list(values: exp.Expr, types: ValueTypes) -> exp.Expr:
    """The keys of the elements of a list."""
    if isinstance(values, exp.Array):
        return exp.Array(expressions=[key_of(value, types) for value in values.expressions])
    if types.context.capabilities.postgres_functions:
        return exp.cast(values.copy(), "JSONB[]", dialect="postgres")
    return fill("list_transform(l, LAMBDA e: k)", l=values, k=key_of(variable("e"), types))


def place_of(value: exp.Expr, types: ValueTypes) -> exp.Expr:
    """What has the order of the values."""
    if types.context.capabilities.postgres_functions:
        return _native(value)
    return exp.paren(fill(_PLACE, j=_json(value), k=key_of(value, types)))


def respelled(value: exp.Expr) -> exp.Expr:
    """A constant as PostgreSQL spells it, anything else as it is; raises CONVERSION."""
    text = value.unnest()
    if not text.is_string:
        return value.copy()
    spelled = jsonb_text(text.name)
    if spelled is None:
        raise no_json(text)
    return exp.Literal.string(spelled)


def no_json(text: exp.Expr) -> PalimpsestError:
    """The error of a constant that is no JSON."""
    return PalimpsestError(
        Code.CONVERSION,
        f"invalid input syntax for type json: {text.name[:80]!r}",
        advice="check the value",
        position=position_of(text),
    )


def _native(value: exp.Expr) -> exp.Expr:
    return native_jsonb(respelled(value))


def _json(value: exp.Expr) -> exp.Expr:
    return exp.cast(respelled(value), _JSON, dialect="duckdb")
