"""``pg_typeof(x)`` by PostgreSQL's names of types, for other stores. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import fill
from journal.sql.network_text import CIDR
from rewriter.reading.value_types import ValueTypes

_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_TYPE_NAMES = {
    "BOOLEAN": "boolean", "SMALLINT": "smallint", "TINYINT": "smallint", "INTEGER": "integer",
    "INT": "integer", "BIGINT": "bigint", "HUGEINT": "numeric", "FLOAT": "real", "REAL": "real",
    "DOUBLE": "double precision", "DECIMAL": "numeric", "VARCHAR": "text", "TEXT": "text",
    "BLOB": "bytea", "DATE": "date", "TIME": "time without time zone", "UUID": "uuid",
    "TIMESTAMP": "timestamp without time zone", "INTERVAL": "interval", "JSON": "json",
    "TIMESTAMPTZ": "timestamp with time zone", "BIT": "bit", "INET": "inet", "TIME WITH TIME ZONE":
    "time with time zone", "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
}  # fmt: skip


def type_name(kind: str) -> str:
    """What PostgreSQL calls a type of DuckDB's name."""
    element = "CIDR" if kind.startswith(CIDR) else kind.rstrip("[]")
    name = _TYPE_NAMES.get(element.partition("(")[0], element.lower())
    return name + ("[]" if kind.endswith("[]") else "")


def spell_typeof(value: exp.Expr, types: ValueTypes) -> exp.Expr:
    """``pg_typeof(x)``: the name of what is known of a value, or of what the store says."""
    if isinstance(value, exp.Null) or value.is_string:
        return exp.Literal.string("unknown")
    kind, mean = types.of(value).kind, value
    while isinstance(mean, exp.Window | exp.Filter):
        mean = mean.this
    if isinstance(mean, exp.Avg):
        kind = types.of(mean.this).kind
        kind = "DOUBLE" if kind in _FLOATS else "DECIMAL"
    if kind is not None and "?" not in kind:
        name = exp.Literal.string(type_name(kind))
        # An aggregate stays one, so that its query gives a row for each group.
        is_row = value.find(exp.AggFunc) is None
        return name if is_row else fill("CASE WHEN x IS NULL THEN n ELSE n END", x=value, n=name)
    branches = " ".join(f"WHEN '{kind}' THEN '{name}'" for kind, name in _TYPE_NAMES.items())
    of = "regexp_replace(typeof(x), '\\(.*|(\\[\\])+$', '')"
    is_array = "CASE WHEN ends_with(typeof(x), '[]') THEN '[]' ELSE '' END"
    return fill(f"CASE {of} {branches} ELSE lower({of}) END || {is_array}", x=value)
