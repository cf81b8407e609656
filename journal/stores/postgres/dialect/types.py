"""Types: the canonical dialect's as PostgreSQL's, and PostgreSQL's as the canonical dialect's.

What PostgreSQL has no type for is refused, except where a wider one holds every value. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.sql.sql import data_type
from journal.sql.type_map import TypeMap
from journal.stores.postgres.dialect.enums import name_enums

_T = exp.DType
TYPES = TypeMap(
    "PostgreSQL",
    "postgres",
    {
        _T.TINYINT: (_T.SMALLINT, ()),
        _T.BIGNUM: (_T.DECIMAL, ()),
        _T.INT128: (_T.DECIMAL, (39, 0)),
        _T.TIMESTAMP_S: (_T.TIMESTAMP, (0,)),
        _T.TIMESTAMP_MS: (_T.TIMESTAMP, (3,)),
    },
    {
        **dict.fromkeys((_T.UTINYINT, _T.USMALLINT, _T.UINT), "unsigned integers"),
        **dict.fromkeys((_T.UBIGINT, _T.UINT128), "unsigned integers"),
        _T.STRUCT: "STRUCT types",
        _T.MAP: "MAP types",
        _T.UNION: "UNION types",
        _T.VARIANT: "VARIANT types",
        _T.TIMESTAMP_NS: "nanosecond timestamps",
        _T.BIT: "BIT strings",
    },
    "use a type that PostgreSQL has: a wider number, TEXT, JSON or an array",
)
_MODIFIER_HEADER = 4
_DECIMAL128_DIGITS, _DECIMAL256_DIGITS = 38, 76

_NAMES: dict[int, tuple[str, pa.DataType]] = {
    16: ("BOOLEAN", pa.bool_()),
    17: ("BLOB", pa.binary()),
    18: ("VARCHAR", pa.string()),
    19: ("VARCHAR", pa.string()),
    20: ("BIGINT", pa.int64()),
    21: ("SMALLINT", pa.int16()),
    23: ("INTEGER", pa.int32()),
    25: ("VARCHAR", pa.string()),
    26: ("BIGINT", pa.int64()),
    114: ("JSON", pa.string()),
    650: ("INET(CIDR)", pa.string()),
    700: ("FLOAT", pa.float32()),
    701: ("DOUBLE", pa.float64()),
    705: ("VARCHAR", pa.string()),
    869: ("INET", pa.string()),
    1042: ("VARCHAR", pa.string()),
    1043: ("VARCHAR", pa.string()),
    1082: ("DATE", pa.date32()),
    1083: ("TIME", pa.time64("us")),
    1114: ("TIMESTAMP", pa.timestamp("us")),
    1184: ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC")),
    1186: ("INTERVAL", pa.month_day_nano_interval()),
    1266: ("TIME WITH TIME ZONE", pa.string()),
    1700: ("DECIMAL", pa.decimal256(76, 20)),
    2950: ("UUID", pa.uuid()),
    3802: ("JSON", pa.string()),
}
_ARRAYS = {
    651: 650, 1000: 16, 1001: 17, 1005: 21, 1007: 23, 1009: 25, 1015: 1043, 1016: 20, 1021: 700,
    1022: 701, 1041: 869, 1115: 1114, 1182: 1082, 1183: 1083, 1185: 1184, 1187: 1186,
    1231: 1700, 2951: 2950,
}  # fmt: skip
NUMERIC, NUMERICS = 1700, 1231
WHOLE = (39 << 16) + _MODIFIER_HEADER
"""The modifier of a NUMERIC of 39 digits without a fraction, which stands for a HUGEINT."""


@lru_cache(maxsize=4096)
def column_type(kind: str) -> str:
    """A column's type, canonical text, as PostgreSQL writes it."""
    holder = exp.Paren(this=data_type(kind))
    name_enums(holder)
    for part in list(holder.find_all(exp.DataType)):
        TYPES.change(part)
    return str(holder.this.sql(dialect=TYPES.dialect))


def type_name(oid: int, modifier: int) -> str:
    """The canonical name of a result column's type; VARCHAR for types it has no name for."""
    element = _ARRAYS.get(oid)
    if element is not None:
        return type_name(element, modifier) + "[]"
    if oid == NUMERIC and modifier >= _MODIFIER_HEADER:
        packed = modifier - _MODIFIER_HEADER
        if modifier == WHOLE:
            return "HUGEINT"
        return f"DECIMAL({packed >> 16},{packed & 0x7FF})"
    found = _NAMES.get(oid)
    return "VARCHAR" if found is None else found[0]


def is_known(oid: int) -> bool:
    """True for types that have a canonical name of their own."""
    return _ARRAYS.get(oid, oid) in _NAMES and oid not in {18, 19, 26, 705}


def stored_type(oid: int, modifier: int) -> str:
    """The canonical type of a column that keeps such values; BIGNUM stands for any number."""
    if oid == NUMERIC and modifier < _MODIFIER_HEADER:
        return "BIGNUM"
    element = _ARRAYS.get(oid)
    return type_name(oid, modifier) if element is None else stored_type(element, modifier) + "[]"


def arrow_type(oid: int, modifier: int) -> pa.DataType | None:
    """The Arrow type of a result column; None where the values themselves must tell."""
    element = _ARRAYS.get(oid)
    if element is not None:
        inner = arrow_type(element, modifier)
        return None if inner is None else pa.list_(inner)
    if oid == NUMERIC:
        packed = modifier - _MODIFIER_HEADER
        if packed < 0 or packed >> 16 > _DECIMAL256_DIGITS:
            return None
        precision, scale = packed >> 16, packed & 0x7FF
        if modifier == WHOLE:
            return pa.decimal128(_DECIMAL128_DIGITS, 0)
        wide = precision > _DECIMAL128_DIGITS
        return pa.decimal256(precision, scale) if wide else pa.decimal128(precision, scale)
    found = _NAMES.get(oid)
    return pa.string() if found is None else found[1]


def sql_type(kind: pa.DataType) -> str:
    """The PostgreSQL type that takes values of an Arrow type."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return sql_type(kind.value_type) + "[]"
    for matches, name in _FROM_ARROW:
        if matches(kind):
            return name
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    if pa.types.is_decimal(kind):
        return "numeric"
    return "text"


_FROM_ARROW = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "smallint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_large_binary, "bytea"),
    (pa.types.is_duration, "interval"),
    (pa.types.is_interval, "interval"),
)


def oids_of_numbers(values: Sequence[Any] | None) -> list[int]:
    """The types of parameters for the server: those of Decimals, and 0, which it finds out."""
    return [_oid_of_number(value) for value in values or ()]


def _oid_of_number(value: Any) -> int:
    if isinstance(value, Decimal):
        return NUMERIC
    is_list = isinstance(value, list) and any(isinstance(item, Decimal) for item in value)
    return NUMERICS if is_list else 0
