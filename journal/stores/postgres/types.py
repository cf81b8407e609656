"""Types: the canonical dialect's as PostgreSQL's, and PostgreSQL's as the canonical dialect's.

What PostgreSQL has no type for is refused, except where a wider one holds every value. Pure.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.sql import data_type

_WIDER = {
    exp.DType.TINYINT: ("SMALLINT", ()),
    exp.DType.BIGNUM: ("DECIMAL", ()),
    exp.DType.INT128: ("DECIMAL", (39, 0)),
    exp.DType.TIMESTAMP_S: ("TIMESTAMP", (0,)),
    exp.DType.TIMESTAMP_MS: ("TIMESTAMP", (3,)),
}
_REFUSED = {
    exp.DType.UTINYINT: "unsigned integers",
    exp.DType.USMALLINT: "unsigned integers",
    exp.DType.UINT: "unsigned integers",
    exp.DType.UBIGINT: "unsigned integers",
    exp.DType.UINT128: "unsigned integers",
    exp.DType.STRUCT: "STRUCT types",
    exp.DType.MAP: "MAP types",
    exp.DType.UNION: "UNION types",
    exp.DType.ENUM: "ENUM types",
    exp.DType.VARIANT: "VARIANT types",
    exp.DType.TIMESTAMP_NS: "nanosecond timestamps",
    exp.DType.BIT: "BIT strings",
}
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
    700: ("FLOAT", pa.float32()),
    701: ("DOUBLE", pa.float64()),
    705: ("VARCHAR", pa.string()),
    1042: ("VARCHAR", pa.string()),
    1043: ("VARCHAR", pa.string()),
    1082: ("DATE", pa.date32()),
    1083: ("TIME", pa.time64("us")),
    1114: ("TIMESTAMP", pa.timestamp("us")),
    1184: ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC")),
    1186: ("INTERVAL", pa.duration("us")),
    1266: ("TIME WITH TIME ZONE", pa.string()),
    1700: ("DECIMAL", pa.decimal256(76, 20)),
    2950: ("UUID", pa.uuid()),
    3802: ("JSON", pa.string()),
}
_ARRAYS = {
    1000: 16, 1001: 17, 1005: 21, 1007: 23, 1009: 25, 1015: 1043, 1016: 20, 1021: 700, 1022: 701,
    1115: 1114, 1182: 1082, 1183: 1083, 1185: 1184, 1231: 1700, 2951: 2950,
}  # fmt: skip
NUMERIC = 1700


def mapped_type(node: exp.DataType) -> None:
    """Make a type PostgreSQL's own; raises NOT_SUPPORTED where it has none."""
    refused = _REFUSED.get(node.this)
    if str(node.args.get("kind") or "").upper() == "TIMESTAMPTZ_NS":
        refused = _REFUSED[exp.DType.TIMESTAMP_NS]
    if refused is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a PostgreSQL store has no {refused}",
            advice="use a type that PostgreSQL has: a wider number, TEXT, JSON or an array",
        )
    wider = _WIDER.get(node.this)
    if wider is not None:
        kind, arguments = wider
        node.set("this", exp.DType[kind])
        literals = [exp.DataTypeParam(this=exp.Literal.number(a)) for a in arguments]
        node.set("expressions", literals)
    elif node.this in {exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.TEXT, exp.DType.NCHAR}:
        # The canonical dialect has one type of text, which knows no length.
        node.set("this", exp.DType.TEXT)
        node.set("expressions", None)


@lru_cache(maxsize=4096)
def column_type(kind: str) -> str:
    """A column's type, canonical text, as PostgreSQL writes it."""
    node = data_type(kind)
    holder = exp.Paren(this=node)
    for part in list(holder.find_all(exp.DataType)):
        mapped_type(part)
    return str(holder.this.sql(dialect="postgres"))


def type_name(oid: int, modifier: int) -> str:
    """The canonical name of a result column's type; VARCHAR for types it has no name for."""
    element = _ARRAYS.get(oid)
    if element is not None:
        return type_name(element, modifier) + "[]"
    if oid == NUMERIC and modifier >= _MODIFIER_HEADER:
        packed = modifier - _MODIFIER_HEADER
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


def arrow_name(kind: pa.DataType) -> str:
    """The canonical name of an Arrow type."""
    name = _CANONICAL.get(sql_type(kind).removesuffix("[]"), "VARCHAR")
    if pa.types.is_decimal(kind):
        name = f"DECIMAL({kind.precision},{kind.scale})"
    return name + "[]" if sql_type(kind).endswith("[]") else name


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
)
_CANONICAL = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "bytea": "BLOB",
    "interval": "INTERVAL",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "numeric": "DECIMAL",
}
