"""Values of a column as PostgreSQL writes them in text, a column at a time where Arrow can."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from gateway.servers.pgwire.any_numbers import SHORTEST, without_zeros
from gateway.servers.pgwire.far_moments import BEFORE_OURS, in_its_era
from gateway.servers.pgwire.infinite_moments import infinite_moments, python_values
from gateway.servers.pgwire.interval_texts import interval_text
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.types import (
    BIT,
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2VECTOR,
    INTERVAL,
    JSON,
    JSONB,
    NUMERIC,
    OIDVECTOR,
    RECORD,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UUID,
    element_type,
    field_types,
    innermost_type,
    pg_type,
)
from journal.sql.record_text import record_text

_VECTORS = (INT2VECTOR, OIDVECTOR)
_DAY_US = 86_400_000_000
_QUOTED = frozenset('{}",\\ \t\n\r\v\f')


def text_column(column: pa.Array, name: str, style: TextStyle) -> pa.Array:
    """The values of a column as UTF-8 bytes; ``name`` is its type, ``style`` the session's."""
    infinite = infinite_moments(column)
    if infinite is not None:
        written = text_column(infinite.column, name, style)
        return infinite.put_into(written, b"infinity", b"-infinity")
    if element_type(name) is None:
        kind = pg_type(name)
        if kind is BOOL:
            return pc.if_else(column.cast(pa.bool_()), "t", "f").cast(pa.binary())
        if kind in (FLOAT4, FLOAT8):
            return _floats(column).cast(pa.binary())
        if kind is TIMESTAMP or kind is TIME:
            return _with_eras(_without_zeros(column)).cast(pa.binary())
        if kind is DATE:
            return _with_eras(column.cast(pa.string())).cast(pa.binary())
        if kind in _VECTORS:
            return _one_by_one(column, name, style)
        if kind is TIMESTAMPTZ and pa.types.is_timestamp(column.type):
            return _instants(column, style.zone).cast(pa.binary())
        if kind in (TIMESTAMPTZ, TIMETZ, INTERVAL, JSON, JSONB, BYTEA, UUID) or not _is_castable(
            column.type
        ):
            return _one_by_one(column, name, style)
        if kind is NUMERIC and pa.types.is_decimal(column.type) and column.type.scale > 6:
            return _one_by_one(column, name, style)
        return column.cast(pa.string()).cast(pa.binary())
    return _one_by_one(column, name, style)


def text_of(value: Any, name: str, style: TextStyle) -> str:
    """One value as PostgreSQL writes it."""
    inner = element_type(name)
    is_array = isinstance(value, list) and pg_type(name) not in (JSON, JSONB, *_VECTORS)
    if inner is None and is_array:
        # Arrays of arrays have the type of those of one dimension.
        inner = name
    if inner is not None and not isinstance(value, str):
        return "{" + ",".join(_element(item, inner, style) for item in value) + "}"
    return _WRITERS.get(type(value), _any)(value, name, style)


def _is_castable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _floats(column: pa.Array) -> pa.Array:
    found = column.cast(pa.string())
    if not _has_letters(found):
        return found
    found = pc.replace_substring_regex(found, r"e([+-])(\d)$", r"e\10\2")
    found = pc.replace_substring_regex(found, r"inf$", "Infinity")
    return pc.replace_substring(found, "nan", "NaN")


def _has_letters(texts: pa.Array) -> bool:
    """Whether some of the numbers written there have an exponent, or are none."""
    data = texts.buffers()[2]
    written = b"" if data is None else data.to_pybytes()
    # To look is much cheaper than to replace: most columns have neither.
    return b"e" in written or b"n" in written


def _without_zeros(column: pa.Array) -> pa.Array:
    """Moments without the zeros at the end of their fractions."""
    is_time = pa.types.is_time(column.type)
    moments = column.cast(pa.time64("us") if is_time else pa.timestamp("us"))
    micros = pc.fill_null(moments.cast(pa.int64()), 0).to_numpy()
    if is_time and (micros == _DAY_US).any():
        # The end of a day, which Arrow does not write.
        is_end = pc.equal(moments.cast(pa.int64()), _DAY_US)
        others = pc.if_else(is_end, pa.scalar(None, moments.type), moments)
        return pc.if_else(is_end, "24:00:00", _without_zeros(others))
    if not (micros % 1_000_000).any():
        return moments.cast(pa.time32("s") if is_time else pa.timestamp("s")).cast(pa.string())
    return pc.replace_substring_regex(moments.cast(pa.string()), r"\.?0+$", "")


def _instants(column: pa.Array, zone: str) -> pa.Array:
    """Instants in a zone, with its distance from UTC; Python has not all the years of them."""
    local = pc.local_timestamp(column.cast(pa.timestamp("us", zone)))
    east = pc.subtract(local.cast(pa.int64()), column.cast(pa.timestamp("us", "UTC")).cast("int64"))
    offsets = pc.dictionary_encode(east)
    written = pa.array(
        [_offset(dt.timedelta(microseconds=offset)) for offset in offsets.dictionary.to_pylist()],
        pa.string(),
    )
    return _with_eras(
        pc.binary_join_element_wise(_without_zeros(local), written.take(offsets.indices), "")
    )


def _with_eras(moments: pa.Array) -> pa.Array:
    """Texts of days with years before ours as PostgreSQL counts them: there is no year 0."""
    if not pc.any(pc.match_substring_regex(moments, BEFORE_OURS)).as_py():
        return moments
    found = [None if m is None else in_its_era(m) for m in moments.to_pylist()]
    return pa.array(found, pa.string())


def _one_by_one(column: pa.Array, name: str, style: TextStyle) -> pa.Array:
    def moments(items: pa.Array) -> list[Any]:
        written = text_column(items, innermost_type(name), style)
        return list(written.cast(pa.string()).to_pylist())

    values = python_values(column, moments)
    found = [None if v is None else text_of(v, name, style).encode() for v in values]
    return pa.array(found, pa.binary())


def _element(value: Any, name: str, style: TextStyle) -> str:
    if value is None:
        return "NULL"
    text = text_of(value, name, style)
    if isinstance(value, list):
        return text
    if not text or text.upper() == "NULL" or not _QUOTED.isdisjoint(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def _any(value: Any, name: str, style: TextStyle) -> str:
    del name, style
    return str(value)


def _float(value: float, name: str, style: TextStyle) -> str:
    del style
    kind = pa.float32() if pg_type(name) is FLOAT4 else pa.float64()
    return str(_floats(pa.array([value], kind))[0].as_py())


def _moment(value: dt.datetime, name: str, style: TextStyle) -> str:
    del name
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    if value.tzinfo is None:
        return f"{value:%Y-%m-%d %H:%M:%S}".zfill(19) + fraction
    local = value.astimezone(ZoneInfo(style.zone))
    return f"{local:%Y-%m-%d %H:%M:%S}".zfill(19) + fraction + _offset(local.utcoffset())


def _time(value: dt.time, name: str, style: TextStyle) -> str:
    del name, style
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return f"{value:%H:%M:%S}{fraction}{_offset(value.utcoffset()) if value.tzinfo else ''}"


def _offset(offset: dt.timedelta | None) -> str:
    seconds = int((offset or dt.timedelta()).total_seconds())
    sign, seconds = "-" if seconds < 0 else "+", abs(seconds)
    found = f"{sign}{seconds // 3600:02}"
    if seconds % 3600:
        found += f":{seconds % 3600 // 60:02}"
    return found + (f":{seconds % 60:02}" if seconds % 60 else "")


def _interval(value: tuple[int, int, int], name: str, style: TextStyle) -> str:
    """Months, days and microseconds."""
    del name
    return interval_text(*value, style.intervals)


def _span(value: pa.MonthDayNano, name: str, style: TextStyle) -> str:
    months, days, nanoseconds = value
    return _interval((months, days, nanoseconds // 1000), name, style)


def _boolean(value: bool, name: str, style: TextStyle) -> str:
    del name, style
    return "t" if value else "f"


def _decimal(value: Decimal, name: str, style: TextStyle) -> str:
    del style
    return without_zeros(value) if name == SHORTEST else f"{value:f}"


def _bytes(value: bytes, name: str, style: TextStyle) -> str:
    del style
    if pg_type(name) is UUID:
        return str(uuid.UUID(bytes=value))
    if pg_type(name) is BIT:
        return bits_of(value)
    return "\\x" + value.hex()


def bits_of(value: bytes) -> str:
    """The digits of a value of BIT, whose first byte says how many signs before them are none.

    >>> bits_of(bytes([5, 0b11111101]))
    '101'
    """
    return "".join(f"{byte:08b}" for byte in value[1:])[value[0] :]


def _json(value: Any, name: str, style: TextStyle) -> str:
    del style
    if name in ("INT2VECTOR", "OIDVECTOR"):
        return " ".join(map(str, value))
    return json.dumps(value, default=str, ensure_ascii=False)


def _row_or_json(value: dict[str, Any], name: str, style: TextStyle) -> str:
    """A row as PostgreSQL writes one; other values with named fields as JSON."""
    if pg_type(name) is not RECORD:
        return _json(value, name, style)
    fields = zip(value.values(), field_types(name), strict=True)
    return record_text(None if v is None else text_of(v, kind, style) for v, kind in fields)


_WRITERS: dict[type, Callable[[Any, str, TextStyle], str]] = {
    bool: _boolean,
    float: _float,
    Decimal: _decimal,
    bytes: _bytes,
    dt.datetime: _moment,
    dt.time: _time,
    tuple: _interval,
    pa.MonthDayNano: _span,
    dict: _row_or_json,
    list: _json,
}
