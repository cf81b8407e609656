"""Casts to regclass, regtype and their like, which tell objects by name or number. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

from gateway.servers.pg_catalog.functions import MACROS
from gateway.servers.pg_catalog.names import is_function_column, is_name_column

_NAMING_CALL = "pg_get_serial_sequence"
"""A function whose result is the name of an object, and may be cast to its number."""
_NUMBERED = frozenset({"regnamespace", "regrole"})
_BY_PARAMETER = _NUMBERED | {"regtype"}
_ROUTINES = frozenset({"regproc", "regprocedure"})
_OF_TEXTS = (exp.DPipe, exp.Concat, exp.ConcatWs)
"""What makes a text of an object's name."""
_TEXT_CALLS = frozenset({"quote_ident", "format"})


def _other_side(node: exp.Expr) -> exp.Expr | None:
    comparison = node.parent
    if not isinstance(comparison, exp.EQ | exp.NEQ):
        return None
    other: exp.Expr = comparison.expression if comparison.this is node else comparison.this
    return other


def _is_number_of(node: exp.Expr | None, kind: str) -> bool:
    """True for the name of an object of this type that is cast to it, or was already."""
    match node:
        case exp.Anonymous():
            return node.name in {f"pgc_{kind}", f"pgc_to_{kind}"}
        case exp.Cast() if isinstance(node.this, exp.Literal):
            return node.to.sql(dialect="postgres").lower().endswith(kind)
    return False


def _is_shown(node: exp.Expr) -> bool:
    """True for what the statement gives to its client as it is, or makes a text of."""
    above = node.parent
    while isinstance(above, exp.Paren | exp.Coalesce):
        above = above.parent
    if isinstance(above, exp.Cast):
        return bool(above.to.this in exp.DataType.TEXT_TYPES)
    if isinstance(above, _OF_TEXTS):
        return True
    above = above.parent if isinstance(above, exp.Alias) else above
    return isinstance(above, exp.Select) and above.parent is None


def _is_text(given: exp.Expr) -> bool:
    """True for a name that is made of others, or is in a column."""
    given = given.unnest()
    called = given.expression if isinstance(given, exp.Dot) else given
    if isinstance(called, exp.Anonymous):
        return called.name.lower() in _TEXT_CALLS
    if isinstance(given, exp.Cast):
        return given.to.this in exp.DataType.TEXT_TYPES
    return isinstance(given, (*_OF_TEXTS, exp.Format)) or is_name_column(given)


def number_of_name(node: exp.Cast) -> exp.Expr | None:
    """The number of the object that a parameter names, for ``$1::regtype::oid``; else None."""
    inner = node.this
    given = _without_text(inner.this) if isinstance(inner, exp.Cast) else inner
    if not isinstance(inner, exp.Cast) or not isinstance(given, exp.Placeholder | exp.Parameter):
        return None
    kind = inner.to.sql(dialect="postgres").lower().removeprefix("pg_catalog.")
    is_named = kind in {"regclass", *_BY_PARAMETER}
    return exp.Anonymous(this=f"pgc_to_{kind}", expressions=[given]) if is_named else None


def _without_text(given: exp.Expr) -> exp.Expr:
    """The name in ``'t'::text`` or ``$1::text``; anything else as it is."""
    if not isinstance(given, exp.Cast) or given.to.this not in exp.DataType.TEXT_TYPES:
        return given
    named = isinstance(given.this, exp.Placeholder | exp.Parameter | exp.Literal)
    return given.this if named else given


def _type_named(name: exp.Expr, *, is_shown: bool) -> exp.Expr:
    """The number of a type, or its name for the client, which has to be there."""
    if not is_shown:
        return exp.Anonymous(this="pgc_to_regtype", expressions=[name])
    found = exp.Anonymous(this="pgc_regtype", expressions=[name])
    return exp.Anonymous(this="pgc_as_regtype", expressions=[found])


_MODIFIER = re.compile(r"\s*\([\d\s,]*\)")
_INTERVAL_FIELDS = re.compile(r"^interval\s+(year|month|day|hour|minute|second)\b.*")
_SHORT_FLOAT = re.compile(r"^float\s*\((\d|1\d|2[0-4])\)", re.I)
_DIMENSIONS = re.compile(r"(\s*\[\d*\])+$")


def _bare_type(name: str) -> str:
    """A type without what it says of its values: ``numeric[]`` for ``NUMERIC(10, 2)[][]``."""
    plain = _MODIFIER.sub("", _SHORT_FLOAT.sub("real", name.strip()))
    element = _DIMENSIONS.sub("", plain)
    is_array = element != plain
    if '"' not in element:
        element = " ".join(_INTERVAL_FIELDS.sub("interval", element.lower()).split())
    if not is_array:
        return element
    return f"{_SPELLED_ELEMENTS.get(element, element)}[]"


_SPELLED_ELEMENTS = {
    "int": "integer",
    "int4": "integer",
    "int8": "bigint",
    "int2": "smallint",
    "decimal": "numeric",
    "dec": "numeric",
    "bool": "boolean",
    "varchar": "character varying",
    "float": "double precision",
    "float8": "double precision",
    "float4": "real",
    "char": "character",
    "bpchar": "character",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
}
"""Types by their other names, of which arrays have one alone."""


def object_cast(node: exp.Cast, name: str) -> exp.Expr:
    """A name becomes its number; a number is shown as its name."""
    given: exp.Expr = _without_text(node.this)
    is_name = isinstance(given, exp.Literal) and given.is_string and not given.name.isdigit()
    if isinstance(given, exp.Literal) and given.name.isdigit():
        known = exp.Literal.number(given.name)
        if not _is_shown(node) or f"as_{name}" not in MACROS:
            return known
        return exp.Anonymous(this=f"pgc_as_{name}", expressions=[known])
    called = given.expression if isinstance(given, exp.Dot) else given
    if name == "regclass" and isinstance(called, exp.Anonymous):
        if called.name.endswith(_NAMING_CALL):
            number = exp.Anonymous(this="pgc_sequence_named", expressions=[given])
            as_name = exp.Anonymous(this="pgc_as_regclass", expressions=[number])
            return as_name if _is_shown(node) else number
    if name == "regclass" and (is_name or isinstance(given, exp.Placeholder | exp.Parameter)):
        if not _is_shown(node):
            # DuckDB may ask for an error among rows of a join before it knows that there is none.
            return exp.Anonymous(this="pgc_to_regclass", expressions=[given])
        # A parameter has no value yet when the statement is described.
        kind = "pgc_regclass" if is_name else "pgc_to_regclass"
        found = exp.Anonymous(this=kind, expressions=[given])
        return exp.Anonymous(this="pgc_as_regclass", expressions=[found])
    if name == "regclass" and _is_text(given):
        if not _is_shown(node):
            return exp.Anonymous(this="pgc_relation_of", expressions=[given])
        found = exp.Anonymous(this="pgc_regclass", expressions=[given])
        return exp.Anonymous(this="pgc_as_regclass", expressions=[found])
    if name in _BY_PARAMETER and isinstance(given, exp.Placeholder | exp.Parameter):
        if not _is_shown(node):
            return exp.Anonymous(this=f"pgc_to_{name}", expressions=[given])
    if name == "regtype" and is_name:
        return _type_named(exp.Literal.string(_bare_type(given.name)), is_shown=_is_shown(node))
    if name in _NUMBERED and is_name:
        found = exp.Anonymous(this=f"pgc_{name}", expressions=[given])
        return (
            exp.Anonymous(this=f"pgc_as_{name}", expressions=[found]) if _is_shown(node) else found
        )
    if name in _ROUTINES and is_name and is_function_column(_other_side(node)):
        # Functions of types have no numbers here: pg_type holds their names.
        return exp.Literal.string(given.name.removeprefix("pg_catalog."))
    if name in _ROUTINES and is_name and not _is_shown(node):
        return exp.Anonymous(this="pgc_regproc", expressions=[given])
    if _is_number_of(_other_side(node), name):
        return given
    if f"as_{name}" in MACROS:
        return exp.Anonymous(this=f"pgc_as_{name}", expressions=[given])
    return exp.cast(given, "VARCHAR")
