"""Rows of an Arrow batch as DataRow messages, all of them in one buffer.

Each column becomes values with their lengths before them; Arrow joins them row by row, and the data
of the joined column are the bytes to send. What has one size in all rows is put together before.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gateway.servers.pgwire.messages import BINARY
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.types import INT2, INT4, INT8, OID, TEXT, element_type, pg_type
from gateway.servers.pgwire.values_binary import binary_column
from gateway.servers.pgwire.values_text import text_column
from gateway.servers.zoned_times import NAMES as ZONED_TIMES
from gateway.servers.zoned_times import zoned_time_texts

_LENGTH = 4
_FEW_ROWS = 32
_COUNT, _SIZE = struct.Struct("!h"), struct.Struct("!i")
_NULL = _SIZE.pack(-1)
_AS_PYTHON = frozenset({INT2, INT4, INT8, OID, TEXT})
"""Types whose texts are those of Python."""
_HUGE_DIGITS = 39
_SIGNED = {"HUGEINT": True, "UHUGEINT": False, "INT128": True, "UINT128": False}
_NOTHING = pa.scalar(b"", pa.binary())
_HEAD = np.dtype([("kind", "S1"), ("size", ">i4"), ("columns", ">i2")])


def data_rows(
    batch: pa.RecordBatch,
    names: Sequence[str],
    formats: Sequence[int],
    style: TextStyle,
    kind: bytes = b"D",
) -> memoryview:
    """The messages of all rows; ``names`` are the types of the columns, ``style`` the session's.

    ``kind`` is that of the messages: rows of a COPY in binary have the same form as DataRow.
    """
    if batch.num_rows == 0:
        return memoryview(b"")
    if batch.num_rows <= _FEW_ROWS:
        return _few_rows(batch, names, formats, style, kind)
    parts: list[pa.Array | np.ndarray] = []
    sizes = np.full(batch.num_rows, _HEAD.itemsize - 1, np.int64)
    for column, name, form in zip(batch.columns, names, formats, strict=True):
        values = _values(column, name, form, style).cast(pa.binary())
        lengths = pc.binary_length(values).fill_null(-1).to_numpy(zero_copy_only=False)
        sizes += np.maximum(lengths, 0) + _LENGTH
        parts += [_cells(lengths.astype(">i4")), _of_one_size(values, lengths)]
    heads = np.empty(batch.num_rows, _HEAD)
    heads["kind"], heads["size"], heads["columns"] = kind, sizes, batch.num_columns
    return _joined([_cells(heads), *parts], int(sizes.sum()) + batch.num_rows)


def _few_rows(
    batch: pa.RecordBatch,
    names: Sequence[str],
    formats: Sequence[int],
    style: TextStyle,
    kind: bytes,
) -> memoryview:
    """The same value by value: calls of Arrow cost more than so few rows."""
    columns = [
        _few_values(column, name, form, style)
        for column, name, form in zip(batch.columns, names, formats, strict=True)
    ]
    count = _COUNT.pack(len(columns))
    messages: list[bytes] = []
    for row in zip(*columns, strict=True):
        parts = [count]
        for value in row:
            if value is None:
                parts.append(_NULL)
            else:
                parts += (_SIZE.pack(len(value)), value)
        body = b"".join(parts)
        messages += (kind, _SIZE.pack(len(body) + _LENGTH), body)
    return memoryview(b"".join(messages))


def _few_values(column: pa.Array, name: str, form: int, style: TextStyle) -> list[bytes | None]:
    if form != BINARY and element_type(name) is None and pg_type(name) in _AS_PYTHON:
        if pa.types.is_integer(column.type) or pa.types.is_string(column.type):
            return [None if v is None else str(v).encode() for v in column.to_pylist()]
    found: list[bytes | None] = _values(column, name, form, style).cast(pa.binary()).to_pylist()
    return found


def _values(column: pa.Array, name: str, form: int, style: TextStyle) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if name in _SIGNED and pa.types.is_fixed_size_binary(column.type):
        numbers = [_number(value, name) for value in column.to_pylist()]
        column = pa.array(numbers, pa.decimal256(_HUGE_DIGITS))
    if name in ZONED_TIMES:
        column = zoned_time_texts(column)
    return binary_column(column, name) if form == BINARY else text_column(column, name, style)


def _number(value: bytes | None, name: str) -> int | None:
    """A number of sixteen bytes, as stores may give it to Arrow."""
    return None if value is None else int.from_bytes(value, "little", signed=_SIGNED[name])


def _cells(values: np.ndarray) -> np.ndarray:
    """Values of one size as a row of bytes each."""
    return values.view(np.uint8).reshape(len(values), values.dtype.itemsize)


def _of_one_size(values: pa.Array, lengths: np.ndarray) -> pa.Array | np.ndarray:
    """A column of bytes, as a row of bytes each where all values are there and of one size."""
    size = int(lengths[0])
    if size < 1 or (lengths != size).any():
        return values.fill_null(_NOTHING)
    _, offsets, data = values.buffers()
    first = int(np.frombuffer(offsets, np.int32)[values.offset])
    found = np.frombuffer(data, np.uint8)[first : first + len(values) * size]
    return found.reshape(len(values), size)


def _binary(cells: np.ndarray) -> pa.Array:
    """Rows of bytes as a column."""
    count, size = cells.shape
    offsets = np.arange(0, (count + 1) * size, size, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(cells)]
    )


def _joined(parts: Sequence[pa.Array | np.ndarray], size: int) -> memoryview:
    """All parts of each row one after another; ``size`` is that of all rows."""
    columns: list[pa.Array] = []
    for is_fixed, group in groupby(parts, lambda part: isinstance(part, np.ndarray)):
        some = list(group)
        columns += [_binary(np.concatenate(some, axis=1))] if is_fixed else some
    joined = pc.binary_join_element_wise(*columns, _NOTHING)
    return memoryview(joined.buffers()[2])[:size]
