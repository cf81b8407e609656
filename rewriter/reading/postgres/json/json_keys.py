"""``j -> k`` and ``j ->> k``, where DuckDB would take a key for a path. Pure.

j -> ''     the parser loses the key
j -> '*'    DuckDB means all keys
j -> k      of a text: DuckDB means a path by ``$.a`` and ``/a``, and fails over ``*``
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.reading.value_types import ValueTypes

KINDS = (exp.JSONExtract, exp.JSONExtractScalar)
_POINTED = frozenset({"", "*"})
"""Keys that no path of DuckDB's names, but a JSON pointer does."""
_POINTER = "'/' || replace(replace(CAST(k AS VARCHAR), '~', '~0'), '/', '~1')"
_OF_TEXT = f"CASE json_type(j) WHEN 'OBJECT' THEN read(j, {_POINTER}) END"
_OF_ANY = f"CASE json_type(j) WHEN 'OBJECT' THEN read(j, {_POINTER}) ELSE read(j, k) END"
_TEXTS = frozenset({"TEXT", "VARCHAR"})


def is_pointed(path: exp.JSONPath) -> bool:
    """True for the place that such a constant key is, as the parser gives it."""
    *_, last = path.expressions
    is_key = isinstance(last, exp.JSONPathKey | exp.JSONPathWildcard)
    return is_key and len(path.expressions) == 2 and _key(last) in _POINTED


def spell_pointed(path: exp.JSONPath, *, native: bool) -> None:
    """Put the key itself, or the pointer to it, in its place."""
    key = _key(path.expressions[1])
    path.replace(exp.Literal.string(key if native else f"/{key}"))


def reads_key(node: exp.Expr, types: ValueTypes) -> bool:
    """True for such an operator whose key is computed, and may be a text."""
    key = node.expression
    if type(node) not in KINDS or isinstance(key, exp.JSONPath | exp.Literal | exp.Neg):
        return False
    if types.context.capabilities.postgres_functions:
        return isinstance(key, exp.Placeholder)
    kind = _kind(key, types)
    return kind is None or kind in _TEXTS


def cast_key(node: exp.Expr, types: ValueTypes) -> None:
    """Say what a parameter is, which PostgreSQL's adapter would take for a path of DuckDB's."""
    kind = "TEXT" if _kind(node.expression, types) in _TEXTS else "INT"
    node.set("expression", exp.cast(node.expression.copy(), kind, dialect="postgres"))


def spell_key(node: exp.Expr, types: ValueTypes) -> exp.Expr:
    """What stands for it; of an array, where the key may be a number, what the store gives."""
    read = "json_extract" if type(node) is exp.JSONExtract else "json_extract_string"
    sql = _OF_ANY if _kind(node.expression, types) is None else _OF_TEXT
    value = fill("CAST(j AS JSON)", j=node.this)
    return exp.Paren(this=fill(sql.replace("read", read), j=value, k=node.expression))


def _kind(key: exp.Expr, types: ValueTypes) -> str | None:
    if not isinstance(key, exp.Placeholder):
        return types.of(key).kind
    given = (kind for name, kind in types.context.kinds if name == key.name)
    return next(given, "TEXT")


def _key(step: exp.Expr) -> str:
    return "*" if isinstance(step, exp.JSONPathWildcard) else str(step.this)
