"""Values that HiveServer2 sends as texts: nested ones, intervals, moments, decimals."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from gateway.servers.hive import column_types
from gateway.servers.hive.column_types import ThriftType

_MONTHS, _MICROS = 12, 1_000_000
_EASY_SCALE = 6
"""Beyond it Arrow writes small decimals with an exponent."""


def texts(column: pa.Array, kind: ThriftType, zone: str) -> pa.Array:
    """The values of a column as texts; ``zone`` is the session's, for moments in time."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column
    if pa.types.is_timestamp(column.type):
        return _moments(column, zone)
    is_decimal = pa.types.is_decimal(column.type)
    if pa.types.is_date(column.type) or (is_decimal and column.type.scale <= _EASY_SCALE):
        return column.cast(pa.string())
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    nested = kind.id in column_types.NESTED
    found = [_text(_python(scalar), zone, nested=nested) for scalar in column]
    return pa.array(found, pa.string())


def _moments(column: pa.Array, zone: str) -> pa.Array:
    unit = "ns" if column.type.unit == "ns" else "us"
    if column.type.tz is not None:
        column = pc.local_timestamp(column.cast(pa.timestamp(unit, zone)))
    written = column.cast(pa.timestamp(unit)).cast(pa.string())
    return pc.replace_substring_regex(written, r"\.?0+$", "") if unit == "us" else written


def _python(scalar: pa.Scalar) -> Any:
    if isinstance(scalar, pa.MonthDayNanoIntervalScalar) and scalar.is_valid:
        return scalar.value
    return scalar.as_py()


def _text(value: Any, zone: str, *, nested: bool) -> str | None:
    if value is None:
        return None
    return _json(value, zone) if nested else _plain(value, zone)


def _plain(value: Any, zone: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dt.datetime():
            return _moment(value, zone)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.decode(errors="replace")
        case pa.MonthDayNano():
            return interval_text(value.months, value.days, value.nanoseconds // 1000)
        case _:
            return str(value)


def _json(value: Any, zone: str) -> str:
    """A nested value as Hive writes it: keys and texts in quotes, no spaces."""
    match value:
        case None:
            return "null"
        case dict():
            return _object(list(value.items()), zone)
        case list() if value and all(isinstance(item, tuple) for item in value):
            return _object(value, zone)
        case list():
            return "[" + ",".join(_json(item, zone) for item in value) + "]"
        case bool() | int() | float() | Decimal():
            return _plain(value, zone)
        case _:
            return json.dumps(_plain(value, zone), ensure_ascii=False)


def _object(pairs: list[tuple[Any, Any]], zone: str) -> str:
    shown = (f"{_key(name, zone)}:{_json(value, zone)}" for name, value in pairs)
    return "{" + ",".join(shown) + "}"


def _key(value: Any, zone: str) -> str:
    # Hive leaves numbers as keys without quotes.
    return _json(value, zone)


def _moment(value: dt.datetime, zone: str) -> str:
    local = value if value.tzinfo is None else value.astimezone(ZoneInfo(zone))
    fraction = f".{local.microsecond:06}".rstrip("0") if local.microsecond else ""
    return f"{local:%Y-%m-%d %H:%M:%S}".zfill(19) + fraction


def interval_text(months: int, days: int, micros: int) -> str:
    """An interval in Spark's words: ``1 years 2 months 3 days 4 hours``."""
    amounts = (
        (_quotient(months, _MONTHS), "years"), (_rest(months, _MONTHS), "months"), (days, "days"),
        (_quotient(micros, 3600 * _MICROS), "hours"),
        (_quotient(_rest(micros, 3600 * _MICROS), 60 * _MICROS), "minutes"),
    )  # fmt: skip
    parts = [f"{amount} {unit}" for amount, unit in amounts if amount]
    seconds = Decimal(_rest(micros, 60 * _MICROS)) / _MICROS
    if seconds or not parts:
        shown = f"{seconds:f}"
        parts.append(f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown} seconds")
    return " ".join(parts)


def _quotient(value: int, unit: int) -> int:
    """The division that goes towards zero, so that both parts have the sign of the whole."""
    return abs(value) // unit * (1 if value >= 0 else -1)


def _rest(value: int, unit: int) -> int:
    return value - _quotient(value, unit) * unit
