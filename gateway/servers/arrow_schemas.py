"""Types of results as Arrow has them on the wire, from the gateway's names of types.

A client hears the schema before the rows come, and from every store the same. What tools cannot
read, such as numbers of sixteen bytes and extension types, is sent as decimals and texts. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.servers.zoned_times import NAMES as ZONED_TIMES
from gateway.servers.zoned_times import zoned_time_texts
from journal.model.result_column import ResultColumn

TYPE_NAME = b"ARROW:FLIGHT:SQL:TYPE_NAME"
"""The key under which the schema says what SQL calls a column's type."""
_T = exp.DataType.Type
_HUGE = pa.decimal128(38, 0)
_PLAIN: dict[Any, pa.DataType] = {
    _T.BOOLEAN: pa.bool_(),
    _T.TINYINT: pa.int8(), _T.SMALLINT: pa.int16(), _T.INT: pa.int32(), _T.BIGINT: pa.int64(),
    _T.UTINYINT: pa.uint8(), _T.USMALLINT: pa.uint16(), _T.UINT: pa.uint32(),
    _T.UBIGINT: pa.uint64(), _T.INT128: _HUGE, _T.UINT128: _HUGE,
    _T.FLOAT: pa.float32(), _T.DOUBLE: pa.float64(),
    _T.BINARY: pa.binary(), _T.VARBINARY: pa.binary(), _T.BLOB: pa.binary(),
    _T.DATE: pa.date32(), _T.TIME: pa.time64("us"),
    _T.TIMESTAMP: pa.timestamp("us"), _T.TIMESTAMPNTZ: pa.timestamp("us"),
    _T.TIMESTAMP_S: pa.timestamp("s"), _T.TIMESTAMP_MS: pa.timestamp("ms"),
    _T.TIMESTAMP_NS: pa.timestamp("ns"), _T.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    _T.INTERVAL: pa.month_day_nano_interval(),
}  # fmt: skip
_SIGNED = {"HUGEINT": True, "UHUGEINT": False, "INT128": True, "UINT128": False}
_DECIMAL_MAX = 38
_ANY_NUMBER = re.compile(r"\bDECIMAL(?=\[|$)")
"""Numbers of any digits, as PostgreSQL has them; no decimal of Arrow holds them all."""


@lru_cache(maxsize=4096)
def arrow_type(name: str) -> pa.DataType:
    """The type in Arrow of a type of the canonical dialect; text for what Arrow lacks."""
    try:
        return _arrow_type(exp.DataType.build(_ANY_NUMBER.sub("VARCHAR", name), dialect="duckdb"))
    except (SqlglotError, ValueError):
        return pa.string()


def _arrow_type(kind: exp.Expr | str) -> pa.DataType:
    if isinstance(kind, exp.ColumnDef):
        kind = kind.args["kind"]
    if not isinstance(kind, exp.DataType):
        return pa.string()
    inner = kind.expressions
    if kind.this in (_T.ARRAY, _T.LIST) and inner:
        return pa.list_(_arrow_type(inner[0]))
    if kind.this == _T.STRUCT and all(isinstance(part, exp.ColumnDef) for part in inner):
        return pa.struct([pa.field(part.name, _arrow_type(part)) for part in inner])
    if kind.this == _T.MAP and len(inner) == 2:
        return pa.map_(_arrow_type(inner[0]), _arrow_type(inner[1]))
    if kind.this == _T.DECIMAL:
        width, scale = ([int(p.name) for p in inner] + [18, 3])[:2] if inner else (18, 3)
        return pa.decimal128(min(width, _DECIMAL_MAX), scale)
    return _PLAIN.get(kind.this, pa.string())


def result_schema(columns: Sequence[ResultColumn]) -> pa.Schema:
    """The schema of rows with these columns; the type in SQL stands in the metadata of fields."""
    return pa.schema(
        [pa.field(c.name, arrow_type(c.type), metadata={TYPE_NAME: c.type}) for c in columns]
    )


def as_wire(
    batch: pa.RecordBatch, columns: Sequence[ResultColumn], schema: pa.Schema
) -> pa.RecordBatch:
    """A batch of a store in the schema that the client was told."""
    found = [
        _as_type(column, known.type, field.type)
        for column, known, field in zip(batch.columns, columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(found, schema=schema)


def _as_type(column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if name in ZONED_TIMES:
        column = zoned_time_texts(column)
    if column.type.equals(kind):
        return column
    if name in _SIGNED and pa.types.is_fixed_size_binary(column.type):
        numbers = [_number(value, name) for value in column.to_pylist()]
        return pa.array(numbers, kind)
    if name == "UUID" and pa.types.is_fixed_size_binary(column.type):
        return pa.array([None if v is None else _uuid_text(v) for v in column.to_pylist()])
    if pa.types.is_null(column.type) or not pa.types.is_nested(column.type):
        return pc.cast(column, kind)
    try:
        return pc.cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array(column.to_pylist(), kind)


def _number(value: bytes | None, name: str) -> int | None:
    return None if value is None else int.from_bytes(value, "little", signed=_SIGNED[name])


def _uuid_text(value: bytes) -> str:
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
