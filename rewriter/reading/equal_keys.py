"""Which constants equal one value of a column, and not several of its values. Pure.

    k = CAST(9007199254740992 AS DOUBLE)     a BIGINT k may also be 9007199254740993
    name = 5                                 a text may be '5' and '05'

A comparison converts the column to the type of such a constant, and keys that differ become equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real

from sqlglot import exp

from journal.model.schema import Column

ParameterKinds = frozenset[tuple[str, str]]
"""The names of parameters that are no texts, each with the kind of its value."""
DOUBLE, WHOLE, NUMBER, MOMENT = "DOUBLE", "WHOLE", "NUMBER", "MOMENT"
"""Kinds of values: whole ones are those of a BIGINT, and numbers all others but DOUBLEs."""
_BEYOND_BIGINT = 2**63
_EXACT_AS_DOUBLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT"})
_EXACT_AS_DOUBLE |= {"UINTEGER", "BOOLEAN", "REAL", "FLOAT", "DOUBLE"}
_EXACT_AS_REAL = frozenset({"TINYINT", "SMALLINT", "UTINYINT", "USMALLINT", "BOOLEAN"})
_EXACT_AS_REAL |= {"REAL", "FLOAT", "DOUBLE"}
_LOSSY = {
    exp.DType.DOUBLE: _EXACT_AS_DOUBLE,
    exp.DType.FLOAT: _EXACT_AS_REAL,
}
_OF_NO_TEXT = (
    exp.DataType.NUMERIC_TYPES
    | exp.DataType.TEMPORAL_TYPES
    | {exp.DType.BOOLEAN, exp.DType.INTERVAL, exp.DType.UUID, exp.DType.BIT}
)
_TEXTS = frozenset({"TEXT", "VARCHAR"})
_MOMENTS = (date, time, timedelta)
_KINDS: dict[type, str] = {Decimal: NUMBER, float: DOUBLE, str: "", type(None): ""}
_KINDS |= dict.fromkeys((datetime, *_MOMENTS), MOMENT)
"""Those of the commonest types, which take longest to tell by their abstract classes."""


def parameter_kinds(parameters: Mapping[str, object]) -> ParameterKinds:
    """The kinds of a statement's parameters.

    >>> sorted(parameter_kinds({"a": 1.5, "b": 2, "c": "x"}))
    [('a', 'DOUBLE'), ('b', 'WHOLE')]
    """
    found = ((name, _kind_of(value)) for name, value in parameters.items())
    return frozenset((name, kind) for name, kind in found if kind)


def equals_one(column: Column, value: exp.Expr, kinds: ParameterKinds) -> bool:
    """True if no two values of a column are equal to this constant."""
    is_text = column.type in _TEXTS
    if isinstance(value, exp.Paren | exp.Neg | exp.Trim):
        return equals_one(column, value.this, kinds)
    if isinstance(value, exp.Cast):
        target = value.to.this
        if is_text:
            return target not in _OF_NO_TEXT
        return column.type in _LOSSY.get(target, (column.type,))
    if isinstance(value, exp.Placeholder):
        given = {kind for name, kind in kinds if name == value.name}
        if is_text:
            return not given
        return DOUBLE not in given or column.type in _EXACT_AS_DOUBLE
    if isinstance(value, exp.Literal) and not value.is_string:
        is_double = "e" in value.name.lower()
        return not is_text and (not is_double or column.type in _EXACT_AS_DOUBLE)
    return True


def _kind_of(value: object) -> str:
    if type(value) is int:
        return WHOLE if -_BEYOND_BIGINT <= value < _BEYOND_BIGINT else NUMBER
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, Integral | Decimal):
        return NUMBER
    if isinstance(value, Real):
        return DOUBLE
    return MOMENT if isinstance(value, _MOMENTS) else ""
