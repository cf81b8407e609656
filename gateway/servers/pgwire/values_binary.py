"""Values of a column in PostgreSQL's binary format: numbers by numpy, the rest one by one.

Source: the send and receive functions of PostgreSQL's types (``numeric_send`` and its kin).
"""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gateway.servers.pgwire.any_numbers import SHORTEST, without_zeros
from gateway.servers.pgwire.infinite_moments import infinite_moments, python_values
from gateway.servers.pgwire.network_binary import address_to_bytes
from gateway.servers.pgwire.numeric_binary import DIGITS_MAX, numeric_column
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.types import (
    BIT,
    BOOL,
    CIDR,
    DATE,
    FLOAT4,
    FLOAT8,
    INET,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    JSONB,
    NUMERIC,
    OID,
    OIDVECTOR,
    RECORD,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UUID,
    PgType,
    element_type,
    field_of,
    field_types,
    innermost_type,
    pg_type,
)
from gateway.servers.zoned_times import micros_and_offset
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn

_EPOCH_DAYS = 10_957
"""From 1970 to 2000, where PostgreSQL's count begins."""
_EPOCH_US = _EPOCH_DAYS * 86_400_000_000
_NUMBERS: dict[int, tuple[str, pa.DataType]] = {
    INT2.oid: (">i2", pa.int16()),
    INT4.oid: (">i4", pa.int32()),
    INT8.oid: (">i8", pa.int64()),
    OID.oid: (">u4", pa.uint32()),
    FLOAT4.oid: (">f4", pa.float32()),
    FLOAT8.oid: (">f8", pa.float64()),
    DATE.oid: (">i4", pa.int32()),
    TIME.oid: (">i8", pa.int64()),
    TIMESTAMP.oid: (">i8", pa.int64()),
    TIMESTAMPTZ.oid: (">i8", pa.int64()),
}
_VECTORS = {INT2VECTOR: "SMALLINT", OIDVECTOR: "OID"}
"""Vectors of the catalog, and what they hold."""
_MOMENTS = (DATE, TIMESTAMP, TIMESTAMPTZ)
_EXACT = Context(prec=200_000)
"""Python's own has 28 digits; PostgreSQL has up to 131072 before the point, 16383 behind it."""
_NUMERIC_HEAD = struct.Struct("!hhHH")
_BASE = 10_000
_JSONB_VERSION, _JSONB_END = pa.scalar(b"\x01"), pa.scalar(b"")


def binary_column(column: pa.Array, name: str) -> pa.Array:
    """The values of a column in the binary format of its type, NULL for NULL."""
    kind = pg_type(name)
    infinite = infinite_moments(column)
    if infinite is not None:
        ends = (_infinity(kind, is_before=before) for before in (False, True))
        return infinite.put_into(binary_column(infinite.column, name), *ends)
    if element_type(name) is None and kind.oid in _NUMBERS:
        return _numbers(column, kind)
    if kind is JSONB and element_type(name) is None:
        texts = column.cast(pa.string()).cast(pa.binary())
        return pc.binary_join_element_wise(_JSONB_VERSION, texts, _JSONB_END)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if element_type(name) is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "a column with arrays of several dimensions is not sent in binary",
                advice="ask for text, or keep arrays of one dimension apart from the others",
            )
        if kind in (INET, CIDR):
            addresses = (
                None if v is None else address_to_bytes(v, name) for v in column.to_pylist()
            )
            return pa.array(addresses, pa.binary())
        if kind is NUMERIC:
            # NaN and the infinities are no decimals of Arrow: such a column comes as texts.
            numbers = (None if v is None else _numeric(Decimal(v)) for v in column.to_pylist())
            return pa.array(numbers, pa.binary())
        if kind is TIMETZ and element_type(name) is None:
            times = (None if v is None else _zoned_time(v) for v in column.to_pylist())
            return pa.array(times, pa.binary())
        return column.cast(pa.string()).cast(pa.binary())
    if pa.types.is_decimal128(column.type) and column.type.precision <= DIGITS_MAX:
        return numeric_column(column)

    def moments(items: pa.Array) -> list[Any]:
        return list(binary_column(items, innermost_type(name)).to_pylist())

    values = python_values(column, moments)
    return pa.array([None if v is None else binary_of(v, name) for v in values], pa.binary())


def binary_of(value: Any, name: str) -> bytes:
    """One value in binary format."""
    inner = element_type(name)
    if inner is not None:
        return _array(value, inner)
    kind = pg_type(name)
    if kind in _VECTORS:
        return _vector(value, _VECTORS[kind])
    if kind is BOOL:
        return b"\x01" if value else b"\x00"
    if kind in _MOMENTS and isinstance(value, bytes):
        return value
    if kind.oid in _NUMBERS:
        return bytes(_numbers(pa.array([value], _arrow(name)), kind)[0].as_py())
    if kind is BIT:
        return _bits(value)
    if kind is RECORD:
        return _row(value, name)
    if kind in (INET, CIDR):
        return address_to_bytes(str(value), name)
    if kind is UUID:
        return value if isinstance(value, bytes) else uuid.UUID(str(value)).bytes
    match value:
        case Decimal() | int() as number:
            exact = Decimal(number)
            return _numeric(Decimal(without_zeros(exact)) if name == SHORTEST else exact)
        case bytes():
            return value
        case pa.MonthDayNano():
            return struct.pack("!qii", value.nanoseconds // 1000, value.days, value.months)
        case dt.time():
            offset = value.utcoffset() or dt.timedelta()
            return struct.pack("!qi", _micros(value), -int(offset.total_seconds()))
        case _:
            from gateway.servers.pgwire.values_text import text_of

            found = text_of(value, name, TextStyle()).encode()
            return b"\x01" + found if kind is JSONB else found


def _infinity(kind: PgType, *, is_before: bool) -> bytes:
    """What stands for the moment after, or before, all others: the last, or first, number."""
    size = np.dtype(_NUMBERS[kind.oid][0]).itemsize
    most = (1 << (size * 8 - 1)) - 1
    return (-most - 1 if is_before else most).to_bytes(size, "big", signed=True)


def _arrow(name: str) -> pa.DataType | None:
    return pa.timestamp("us") if pg_type(name) is TIMESTAMP else None


def _numbers(column: pa.Array, kind: PgType) -> pa.Array:
    spelling, arrow = _NUMBERS[kind.oid]
    if kind is TIMESTAMP or kind is TIMESTAMPTZ:
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    elif kind is TIME:
        column = column.cast(pa.time64("us")).cast(pa.int64())
    else:
        column = column.cast(arrow)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if kind is TIMESTAMP or kind is TIMESTAMPTZ:
        values = values - _EPOCH_US
    elif kind is DATE:
        values = values - _EPOCH_DAYS
    data = np.ascontiguousarray(values, spelling)
    size = data.dtype.itemsize
    offsets = np.arange(0, (len(data) + 1) * size, size, dtype=np.int32)
    found = pa.Array.from_buffers(
        pa.binary(), len(data), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    if column.null_count:
        return pa.compute.if_else(column.is_valid(), found, pa.scalar(None, pa.binary()))
    return found


def _zoned_time(text: str) -> bytes:
    micros, east = micros_and_offset(text)
    return struct.pack("!qi", micros, -east)


def _micros(value: dt.time) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _numeric(value: Decimal) -> bytes:
    """Digits to base 10,000, the power of the first, a sign and the digits after the point."""
    if not value.is_finite():
        infinity = 0xF000 if value.is_signed() else 0xD000
        return _NUMERIC_HEAD.pack(0, 0, 0xC000 if value.is_nan() else infinity, 0)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = ("".join(map(str, digits)) + "0" * max(0, exponent)).rjust(scale, "0")
    whole, part = text[: len(text) - scale], text[len(text) - scale :].rjust(scale, "0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[i : i + 4]) for i in range(0, len(whole) + len(part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = _NUMERIC_HEAD.pack(len(groups), weight if groups else 0, 0x4000 * sign, scale)
    return head + struct.pack(f"!{len(groups)}H", *groups)


def numeric_from(data: bytes) -> Decimal:
    """The number of such bytes."""
    count, weight, sign, scale = _NUMERIC_HEAD.unpack_from(data)
    if sign in (0xC000, 0xD000, 0xF000):
        return Decimal({0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}[sign])
    groups = struct.unpack_from(f"!{count}H", data, _NUMERIC_HEAD.size)
    number = 0
    for group in groups:
        number = number * _BASE + group
    found = Decimal(number).scaleb(4 * (weight - count + 1), _EXACT) if count else Decimal(0)
    signed = found.copy_negate() if sign == 0x4000 else found
    return signed.quantize(Decimal(1).scaleb(-scale, _EXACT), context=_EXACT)


def _array(values: list[Any], inner: str) -> bytes:
    """Dimensions, whether there are NULLs, the type of elements, and the elements."""
    sizes: list[int] = []
    items: list[Any] = values
    depth: Any = values
    while isinstance(depth, list) and depth:
        sizes.append(len(depth))
        depth = depth[0]
    for _ in sizes[1:]:
        items = [item for part in items for item in part]
        inner = element_type(inner) or inner
    has_null = any(item is None for item in items)
    head = struct.pack("!iiI", len(sizes), has_null, pg_type(inner).oid)
    dimensions = b"".join(struct.pack("!ii", size, 1) for size in sizes)
    return head + dimensions + b"".join(_counted(item, inner) for item in items)


def _row(value: dict[str, Any], name: str) -> bytes:
    """The number of fields, and the type and the value of each."""
    kinds = field_types(name)
    fields = zip(value.values(), kinds, strict=True)
    parts = (
        struct.pack("!I", field_of(ResultColumn("", kind)).oid) + _counted(v, kind)
        for v, kind in fields
    )
    return struct.pack("!i", len(kinds)) + b"".join(parts)


def _bits(value: bytes) -> bytes:
    """The number of bits, and the bits from the left; ours have what fills a byte before them."""
    count = 8 * (len(value) - 1) - value[0]
    whole = int.from_bytes(value[1:], "big") & ((1 << count) - 1)
    return struct.pack("!i", count) + (whole << -count % 8).to_bytes(-(-count // 8), "big")


def _vector(values: list[Any], inner: str) -> bytes:
    """A list whose places count from 0."""
    head = struct.pack("!iiIii", 1, 0, pg_type(inner).oid, len(values), 0)
    return head + b"".join(_counted(item, inner) for item in values)


def _counted(value: Any, name: str) -> bytes:
    if value is None:
        return b"\xff\xff\xff\xff"
    data = binary_of(value, name)
    return struct.pack("!i", len(data)) + data
