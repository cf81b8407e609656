"""Rows of an Arrow batch in the protocol's encoding: by columns, or row by row for old clients.

A column is a list of values, with a placeholder where there is none, and a bit for each row that
says so. Numbers are turned at once; texts are joined with their lengths by Arrow.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from thrift.Thrift import TType

from gateway.servers.hive import column_types
from gateway.servers.hive.column_types import ThriftType, hive_type
from gateway.servers.hive.value_texts import texts
from gateway.servers.hive.wire import ttypes
from gateway.servers.zoned_times import NAMES as ZONED_TIMES
from gateway.servers.zoned_times import zoned_time_texts

_FIELD = struct.Struct("!Bh")
_LIST = struct.Struct("!Bi")
_SIZE = struct.Struct("!i")
_LONG = struct.Struct("!q")
_STOP = b"\0"
_T = ttypes.TTypeId
_FIXED: dict[int, tuple[int, int, str]] = {
    _T.BOOLEAN_TYPE: (1, TType.BOOL, "?"),
    _T.TINYINT_TYPE: (2, TType.BYTE, "i1"),
    _T.SMALLINT_TYPE: (3, TType.I16, ">i2"),
    _T.INT_TYPE: (4, TType.I32, ">i4"),
    _T.BIGINT_TYPE: (5, TType.I64, ">i8"),
    _T.FLOAT_TYPE: (6, TType.DOUBLE, ">f8"),
    _T.DOUBLE_TYPE: (6, TType.DOUBLE, ">f8"),
}
"""By types: the field of the column's union, the type of its values, and that of numpy."""
_NO_NUMBER = {kind: pa.bool_() if kind == _T.BOOLEAN_TYPE else pa.int8() for kind in _FIXED}
_TEXT, _BINARY = 7, 8
_NOTHING = pa.scalar(b"", pa.binary())
_HUGE = {"HUGEINT": True, "UHUGEINT": False, "INT128": True, "UINT128": False}


def row_set(batch: pa.RecordBatch, names: Sequence[str], zone: str, start: int) -> bytes:
    """Rows by columns; ``names`` are their types, ``start`` counts the rows before them."""
    parts = [
        _FIELD.pack(TType.I64, 1), _LONG.pack(start),
        _FIELD.pack(TType.LIST, 2), _LIST.pack(TType.STRUCT, 0),
        _FIELD.pack(TType.LIST, 3), _LIST.pack(TType.STRUCT, batch.num_columns),
    ]  # fmt: skip
    for column, name in zip(batch.columns, names, strict=True):
        parts += _column(_stored(column, name), hive_type(name), zone)
    parts.append(_STOP)
    return b"".join(parts)


def empty_batch(names: Sequence[str]) -> pa.RecordBatch:
    """No rows, encoded by the types of columns, which impyla looks at behind the last row, too."""
    kinds = [_NO_NUMBER.get(hive_type(name).id, pa.string()) for name in names]
    arrays = [pa.array([], kind) for kind in kinds]
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(names))])


def rows_one_by_one(batch: pa.RecordBatch, names: Sequence[str], zone: str) -> list[Any]:
    """The same rows as structures, which protocols before the sixth version read."""
    columns = [
        _single_values(_stored(column, name), hive_type(name), zone)
        for column, name in zip(batch.columns, names, strict=True)
    ]
    return [ttypes.TRow(list(row)) for row in zip(*columns, strict=True)]


def _single_values(column: pa.Array, kind: ThriftType, zone: str) -> list[Any]:
    place, wrap = _SINGLE.get(kind.id, ("stringVal", ttypes.TStringValue))
    if kind is column_types.BINARY:
        values = [None if v is None else v.decode(errors="replace") for v in column.to_pylist()]
    elif kind.id in _FIXED:
        values = _numbers(column, kind).to_pylist()
    else:
        values = texts(column, kind, zone).to_pylist()
    return [ttypes.TColumnValue(**{place: wrap(value)}) for value in values]


_SINGLE: dict[int, tuple[str, Any]] = {
    _T.BOOLEAN_TYPE: ("boolVal", ttypes.TBoolValue),
    _T.TINYINT_TYPE: ("byteVal", ttypes.TByteValue),
    _T.SMALLINT_TYPE: ("i16Val", ttypes.TI16Value),
    _T.INT_TYPE: ("i32Val", ttypes.TI32Value),
    _T.BIGINT_TYPE: ("i64Val", ttypes.TI64Value),
    _T.FLOAT_TYPE: ("doubleVal", ttypes.TDoubleValue),
    _T.DOUBLE_TYPE: ("doubleVal", ttypes.TDoubleValue),
}


def _stored(column: pa.Array, name: str) -> pa.Array:
    """A column as plain values of Arrow."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if name in _HUGE and pa.types.is_fixed_size_binary(column.type):
        signed = _HUGE[name]
        found = [
            None if v is None else str(int.from_bytes(v, "little", signed=signed))
            for v in column.to_pylist()
        ]
        return pa.array(found, pa.string())
    return zoned_time_texts(column) if name in ZONED_TIMES else column


def _column(column: pa.Array, kind: ThriftType, zone: str) -> list[bytes]:
    fixed = _FIXED.get(kind.id)
    count = len(column)
    if fixed is not None:
        field, element, dtype = fixed
        numbers = _numbers(column, kind)
        plain = numbers.fill_null(False if element == TType.BOOL else 0)
        data = plain.to_numpy(zero_copy_only=False).astype(dtype).tobytes()
    else:
        element = TType.STRING
        is_binary = kind is column_types.BINARY
        field = _BINARY if is_binary else _TEXT
        values = column if is_binary else texts(column, kind, zone)
        data = _joined(values.cast(pa.binary()))
    return [
        _FIELD.pack(TType.STRUCT, field),
        _FIELD.pack(TType.LIST, 1), _LIST.pack(element, count), data,
        _FIELD.pack(TType.STRING, 2), _nulls(column),
        _STOP, _STOP,
    ]  # fmt: skip


def _numbers(column: pa.Array, kind: ThriftType) -> pa.Array:
    if kind is column_types.BOOLEAN:
        return column.cast(pa.bool_())
    if kind is column_types.FLOAT:
        # As Hive does: the double that is written like the float.
        return column.cast(pa.string()).cast(pa.float64())
    return column


def _joined(values: pa.Array) -> bytes:
    """Texts one after another, each behind its length."""
    if not len(values):
        return b""
    filled = values.fill_null(_NOTHING)
    lengths = pc.binary_length(filled).to_numpy(zero_copy_only=False).astype(">i4")
    offsets = np.arange(0, (len(filled) + 1) * _SIZE.size, _SIZE.size, dtype=np.int32)
    sizes = pa.Array.from_buffers(
        pa.binary(), len(filled), [None, pa.py_buffer(offsets), pa.py_buffer(lengths)]
    )
    joined = pc.binary_join_element_wise(sizes, filled, _NOTHING)
    size = int(lengths.astype(np.int64).sum()) + len(filled) * _SIZE.size
    return memoryview(joined.buffers()[2])[:size].tobytes()


def _nulls(column: pa.Array) -> bytes:
    """A bit for each row, from the lowest on, that is 1 where there is no value."""
    if column.null_count == 0:
        return _SIZE.pack(1) + b"\0"
    missing = column.is_null().to_numpy(zero_copy_only=False)
    bits = np.packbits(missing, bitorder="little").tobytes()
    return _SIZE.pack(len(bits)) + bits
