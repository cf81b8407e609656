"""SQL types: what SQLAlchemy's generic ones become here, and reflected type texts as types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import sqlglot
from sqlalchemy.dialects.sqlite import json as sqlite_json
from sqlalchemy.sql import sqltypes
from sqlalchemy.sql.type_api import NativeForEmulated
from sqlalchemy.types import TypeEngine
from sqlglot import exp

AnyType = TypeEngine[Any]


class TINYINT(sqltypes.Integer):
    """Eight bits with sign."""

    __visit_name__ = "TINYINT"


class HUGEINT(sqltypes.Integer):
    """128 bits with sign."""

    __visit_name__ = "HUGEINT"


class INTERVAL(NativeForEmulated, sqltypes._AbstractInterval):
    """A native interval; values are ``timedelta``."""

    __visit_name__ = "INTERVAL"
    native = True

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> AnyType:
        """The native type for a generic ``Interval``."""
        return cls()

    @property
    def python_type(self) -> type[Any]:
        """What values are."""
        return dt.timedelta

    def literal_processor(self, dialect: Any) -> Callable[[dt.timedelta], str]:
        """A literal of the three parts of a timedelta, which therefore is exact."""

        def process(value: dt.timedelta) -> str:
            parts = f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
            return f"INTERVAL '{parts}'"

        return process


class _Numeric(sqltypes.Numeric[Any]):
    """Decimals are native; yet a division of decimals gives a float, which becomes a decimal."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any] | None:
        if not self.asdecimal:
            return lambda value: None if value is None else float(value)
        return lambda value: Decimal(repr(value)) if isinstance(value, float) else value


class Nested(TypeEngine[Any]):
    """STRUCT, MAP and UNION: values come as the driver gives them; the text is kept."""

    __visit_name__ = "NESTED"

    def __init__(self, text: str) -> None:
        self.text = text


# JSON paths have SQLite's form, which DuckDB reads as well: $."name"[0].
COLSPECS: dict[type[AnyType], type[AnyType]] = {
    sqltypes.Interval: INTERVAL,
    sqltypes.Numeric: _Numeric,
    # A Float is a Numeric to SQLAlchemy, and needs nothing of the above.
    sqltypes.Float: sqltypes.Float,
    sqltypes.JSON.JSONIndexType: sqlite_json.JSONIndexType,
    sqltypes.JSON.JSONPathType: sqlite_json.JSONPathType,
}

_Kind = exp.DataType.Type
_PLAIN: dict[Any, Callable[[], AnyType]] = {
    _Kind.TINYINT: TINYINT,
    _Kind.SMALLINT: sqltypes.SMALLINT,
    _Kind.INT: sqltypes.INTEGER,
    _Kind.BIGINT: sqltypes.BIGINT,
    _Kind.INT128: HUGEINT,
    _Kind.UTINYINT: sqltypes.SMALLINT,
    _Kind.USMALLINT: sqltypes.INTEGER,
    _Kind.UINT: sqltypes.BIGINT,
    _Kind.UBIGINT: HUGEINT,
    _Kind.UINT128: HUGEINT,
    _Kind.FLOAT: sqltypes.REAL,
    _Kind.DOUBLE: sqltypes.DOUBLE,
    _Kind.BOOLEAN: sqltypes.BOOLEAN,
    _Kind.DATE: sqltypes.DATE,
    _Kind.TIME: sqltypes.TIME,
    _Kind.TIMETZ: lambda: sqltypes.TIME(timezone=True),
    _Kind.TIMESTAMP: sqltypes.TIMESTAMP,
    _Kind.TIMESTAMPNTZ: sqltypes.TIMESTAMP,
    _Kind.DATETIME: sqltypes.TIMESTAMP,
    _Kind.TIMESTAMP_S: sqltypes.TIMESTAMP,
    _Kind.TIMESTAMP_MS: sqltypes.TIMESTAMP,
    _Kind.TIMESTAMP_NS: sqltypes.TIMESTAMP,
    _Kind.TIMESTAMPTZ: lambda: sqltypes.TIMESTAMP(timezone=True),
    _Kind.INTERVAL: INTERVAL,
    _Kind.UUID: sqltypes.UUID,
    _Kind.JSON: sqltypes.JSON,
    _Kind.VARBINARY: sqltypes.BLOB,
    _Kind.BINARY: sqltypes.BLOB,
    _Kind.BIT: sqltypes.VARCHAR,
}
_TEXTS = frozenset({_Kind.VARCHAR, _Kind.TEXT, _Kind.CHAR, _Kind.NVARCHAR, _Kind.NCHAR})


def reflected_type(text: str) -> AnyType:
    """The SQLAlchemy type of a column whose type is ``text`` in the catalog."""
    return _type_of(exp.DataType.build(sqlglot.parse_one(text, into=exp.DataType, read="duckdb")))


def _type_of(kind: exp.DataType) -> AnyType:
    numbers = [int(e.name) for e in kind.expressions if e.name.isdigit()]
    name = kind.this
    if name in _TEXTS:
        return sqltypes.VARCHAR(numbers[0] if numbers else None)
    if name is _Kind.DECIMAL:
        precision, scale = (*numbers, 0)[:2] if numbers else (18, 3)
        decimal: AnyType = sqltypes.DECIMAL(precision, scale)
        return decimal
    if name is _Kind.ENUM:
        return sqltypes.Enum(*(e.name for e in kind.expressions))
    if name in {_Kind.LIST, _Kind.ARRAY} and kind.expressions:
        return _list_of(_type_of(kind.expressions[0]))
    plain = _PLAIN.get(name) if isinstance(name, _Kind) else None
    return plain() if plain is not None else Nested(kind.sql(dialect="duckdb"))


def _list_of(item: AnyType) -> AnyType:
    if isinstance(item, sqltypes.ARRAY):
        return sqltypes.ARRAY(item.item_type, dimensions=(item.dimensions or 1) + 1)
    return sqltypes.ARRAY(item, dimensions=1)
