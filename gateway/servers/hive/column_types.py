"""Types of results as HiveServer2 names them, from the gateway's names of types."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from gateway.servers.hive.wire import ttypes
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_T = ttypes.TTypeId


@dataclass(frozen=True, slots=True)
class ThriftType:
    """A type: its number in the protocol, its name, and its number in JDBC.

    ``precision`` and ``scale`` are those of a DECIMAL.
    """

    id: int
    name: str
    jdbc: int
    size: int | None = None
    precision: int | None = None
    scale: int | None = None


BOOLEAN = ThriftType(_T.BOOLEAN_TYPE, "boolean", 16)
TINYINT = ThriftType(_T.TINYINT_TYPE, "tinyint", -6, 3, scale=0)
SMALLINT = ThriftType(_T.SMALLINT_TYPE, "smallint", 5, 5, scale=0)
INT = ThriftType(_T.INT_TYPE, "int", 4, 10, scale=0)
BIGINT = ThriftType(_T.BIGINT_TYPE, "bigint", -5, 19, scale=0)
FLOAT = ThriftType(_T.FLOAT_TYPE, "float", 6, 7, scale=7)
DOUBLE = ThriftType(_T.DOUBLE_TYPE, "double", 8, 15, scale=15)
STRING = ThriftType(_T.STRING_TYPE, "string", 12)
TIMESTAMP = ThriftType(_T.TIMESTAMP_TYPE, "timestamp", 93, 29, scale=9)
BINARY = ThriftType(_T.BINARY_TYPE, "binary", -2)
DATE = ThriftType(_T.DATE_TYPE, "date", 91, 10)
VOID = ThriftType(_T.NULL_TYPE, "void", 0)
ARRAY, MAP, STRUCT = _T.ARRAY_TYPE, _T.MAP_TYPE, _T.STRUCT_TYPE
_NAMED = {
    "BOOLEAN": BOOLEAN, "TINYINT": TINYINT, "SMALLINT": SMALLINT, "UTINYINT": SMALLINT,
    "INTEGER": INT, "INT": INT, "USMALLINT": INT, "BIGINT": BIGINT, "UINTEGER": BIGINT,
    "FLOAT": FLOAT, "REAL": FLOAT, "DOUBLE": DOUBLE, "BLOB": BINARY, "BYTEA": BINARY,
    "VARBINARY": BINARY, "DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMP_S": TIMESTAMP,
    "TIMESTAMP_MS": TIMESTAMP, "TIMESTAMP_NS": TIMESTAMP, "TIMESTAMP WITH TIME ZONE": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP, "NULL": VOID, '"NULL"': VOID,
}  # fmt: skip
_WIDE = {"UBIGINT": 20, "HUGEINT": 38, "UHUGEINT": 38, "INT128": 38, "UINT128": 38}
NESTED = frozenset({ARRAY, MAP, STRUCT})


def hive_type(name: str) -> ThriftType:
    """The type of values of a type of the gateway's; string for one that Hive lacks."""
    found = _NAMED.get(name)
    if found is not None:
        return found
    if name in _WIDE:
        return _decimal(_WIDE[name], 0)
    if decimal := _DECIMAL.fullmatch(name):
        return _decimal(int(decimal[1]), int(decimal[2]))
    if name.endswith("]"):
        return ThriftType(ARRAY, _nested_name(name, "array<string>"), 2003)
    if name.startswith("MAP("):
        return ThriftType(MAP, _nested_name(name, "map<string,string>"), 2000)
    if name.startswith("STRUCT("):
        return ThriftType(STRUCT, _nested_name(name, "struct<>"), 2002)
    return STRING


def schema_of(columns: list[ResultColumn]) -> ttypes.TTableSchema:
    """The columns of a result as the protocol describes them."""
    described = [
        ttypes.TColumnDesc(column.name, _description(hive_type(column.type)), place)
        for place, column in enumerate(columns, 1)
    ]
    return ttypes.TTableSchema(described)


def _decimal(precision: int, scale: int) -> ThriftType:
    name = f"decimal({precision},{scale})"
    return ThriftType(_T.DECIMAL_TYPE, name, 3, precision, precision, scale)


def _description(kind: ThriftType) -> ttypes.TTypeDesc:
    qualifiers = None
    if kind.id == _T.DECIMAL_TYPE:
        values = {"precision": kind.precision, "scale": kind.scale}
        qualifiers = ttypes.TTypeQualifiers(
            {name: ttypes.TTypeQualifierValue(value) for name, value in values.items()}
        )
    entry = ttypes.TTypeEntry(ttypes.TPrimitiveTypeEntry(kind.id, qualifiers))
    return ttypes.TTypeDesc([entry])


def _nested_name(name: str, otherwise: str) -> str:
    try:
        kind = exp.DataType.build(name, dialect="duckdb")
    except (sqlglot.ParseError, ValueError):
        return otherwise
    return _type_text(kind)


def _type_text(kind: exp.Expr) -> str:
    """A nested type as Hive writes it: ``map<string,array<int>>``."""
    if isinstance(kind, exp.ColumnDef):
        assert kind.kind is not None
        return f"{kind.name}:{_type_text(kind.kind)}"
    assert isinstance(kind, exp.DataType)
    if kind.is_type("array", "list", "map", "struct"):
        inner = ",".join(_type_text(item) for item in kind.expressions)
        shown = "array" if kind.is_type("list") else kind.this.value.lower()
        return f"{shown}<{inner}>"
    return hive_type(kind.sql(dialect="duckdb").replace(", ", ",")).name
