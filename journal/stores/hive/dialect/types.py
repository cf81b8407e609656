"""Types: the canonical dialect's as Spark's, Spark's as the canonical dialect's, and their values.

What Spark has no type for is refused, except where a wider one holds every value. Pure.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.sql.type_map import TypeMap

DIALECT = "spark"
_T = exp.DType
TYPES = TypeMap(
    "Hive",
    DIALECT,
    {
        _T.UTINYINT: (_T.SMALLINT, ()),
        _T.USMALLINT: (_T.INT, ()),
        _T.UINT: (_T.BIGINT, ()),
        _T.UBIGINT: (_T.DECIMAL, (20, 0)),
        _T.INT128: (_T.DECIMAL, (38, 0)),
        _T.UUID: (_T.TEXT, ()),
        _T.TIME: (_T.TEXT, ()),
        _T.TIMESTAMP_S: (_T.TIMESTAMPNTZ, ()),
        _T.TIMESTAMP_MS: (_T.TIMESTAMPNTZ, ()),
        _T.TIMESTAMP: (_T.TIMESTAMPNTZ, ()),
        _T.JSON: (_T.TEXT, ()),
        _T.ENUM: (_T.TEXT, ()),
        _T.INET: (_T.TEXT, ()),
    },
    {
        _T.UINT128: "UHUGEINT",
        _T.BIGNUM: "BIGNUM",
        _T.UNION: "UNION types",
        _T.TIMESTAMP_NS: "nanosecond timestamps",
        _T.BIT: "BIT strings",
        _T.INTERVAL: "INTERVAL columns",
        _T.TIMETZ: "TIME WITH TIME ZONE",
        _T.VARIANT: "VARIANT types",
    },
    "use a type that Spark has: a wider number, text, an array, map or struct",
)
_TOLD = {
    "BOOLEAN_TYPE": "boolean",
    "TINYINT_TYPE": "tinyint",
    "SMALLINT_TYPE": "smallint",
    "INT_TYPE": "int",
    "BIGINT_TYPE": "bigint",
    "FLOAT_TYPE": "float",
    "DOUBLE_TYPE": "double",
    "STRING_TYPE": "string",
    "BINARY_TYPE": "binary",
    "DATE_TYPE": "date",
    "NULL_TYPE": "void",
}
"""Types that the server's word for them tells whole."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@lru_cache(maxsize=4096)
def spark_type(kind: str) -> str:
    """A type, canonical text, as Spark writes it."""
    return TYPES.text(kind)


@dataclass(frozen=True, slots=True)
class HiveType:
    """A type of Spark: its canonical name, its Arrow type, and how its values arrive."""

    name: str
    arrow: pa.DataType
    is_nested: bool = False
    convert: Callable[[Any], Any] | None = None

    def values(self, column: list[Any]) -> list[Any]:
        """Python values of what arrived, nulls kept; raises OUT_OF_RANGE where there is none."""
        convert = self.convert
        if convert is None:
            return column
        try:
            return [None if v is None else convert(v) for v in column]
        except (ValueError, ArithmeticError) as error:
            raise PalimpsestError(
                Code.OUT_OF_RANGE,
                f"the server gave a value that is no {self.name} of the years 1 to 9999: {error}",
                advice="CAST it to VARCHAR in the query",
            ) from error


def whole_type(word: str, kind: str) -> str:
    """A type as Spark describes it, given the server's word for it and what else the server tells
    of it; "" where that may be one of several.
    """
    return kind if word == "DECIMAL_TYPE" and "(" in kind else _TOLD.get(word, "")


_VOID = re.compile(r"(?<=[<:,])void(?=[,>])")
"""The type of a NULL without one, as a member of others; sqlglot does not read it."""


@lru_cache(maxsize=4096)
def kind_of(text: str) -> HiveType:
    """What a type is, given as Spark describes it."""
    base = text.partition("(")[0].strip().lower()
    found = _KINDS.get(base)
    if found is not None:
        return found
    if base == "decimal":
        precision, scale = (int(n) for n in text.partition("(")[2].rstrip(")").split(","))
        return HiveType(
            f"DECIMAL({precision},{scale})", pa.decimal128(precision, scale), convert=_decimal
        )
    if base.startswith(("array", "map", "struct")):
        node = exp.DataType.build(_VOID.sub("int", text), dialect=DIALECT)
        decode = _decoder(node)
        return HiveType(
            _name(node), _arrow(node), True, lambda v: decode(json.loads(v, parse_float=Decimal))
        )
    return HiveType("VARCHAR", pa.string(), convert=str)


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _date(value: Any) -> datetime.date:
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))


def _naive(value: Any) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return datetime.datetime.fromisoformat(str(value)).replace(tzinfo=None)


def _instant(value: Any) -> datetime.datetime:
    found = value
    if not isinstance(found, datetime.datetime):
        found = datetime.datetime.fromisoformat(str(value))
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


def _span(value: Any) -> datetime.timedelta:
    """``-33 12:30:00.5``: all of it has the sign."""
    found = _SPAN.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    sign, days, hours, minutes, seconds, fraction = found.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    parts = {"hours": int(hours), "minutes": int(minutes), "seconds": int(seconds)}
    span = datetime.timedelta(days=int(days), microseconds=micros, **parts)
    return -span if sign else span


def instants_in_zone(values: list[Any], zone: str) -> list[Any]:
    """Instants whose local times in a zone were read as those of UTC.

    Raises OUT_OF_RANGE for a time that the zone has twice, as its clocks were put back.
    """
    local = pa.array([None if v is None else v.replace(tzinfo=None) for v in values], _MOMENT)
    try:
        found = pc.assume_timezone(local, zone, ambiguous="raise", nonexistent="raise")
    except pa.ArrowInvalid as error:
        raise PalimpsestError(
            Code.OUT_OF_RANGE,
            f"the server gave a moment that {zone} has twice: {error}",
            advice="SET TimeZone = 'UTC', and read it again",
        ) from error
    instants: list[Any] = found.cast(pa.timestamp("us", "UTC")).to_pylist()
    return instants


INSTANT = HiveType("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC"), convert=_instant)
_MOMENT = pa.timestamp("us")
_SPAN = re.compile(r"(-)?(\d+) (\d+):(\d+):(\d+)(?:\.(\d+))?")
_KINDS = {
    "boolean": HiveType("BOOLEAN", pa.bool_()),
    "tinyint": HiveType("TINYINT", pa.int8()),
    "smallint": HiveType("SMALLINT", pa.int16()),
    "int": HiveType("INTEGER", pa.int32()),
    "bigint": HiveType("BIGINT", pa.int64()),
    "float": HiveType("FLOAT", pa.float32()),
    "double": HiveType("DOUBLE", pa.float64()),
    "string": HiveType("VARCHAR", pa.string()),
    "varchar": HiveType("VARCHAR", pa.string()),
    "char": HiveType("VARCHAR", pa.string()),
    "void": HiveType("INTEGER", pa.int32()),
    "binary": HiveType("BLOB", pa.binary()),
    "date": HiveType("DATE", pa.date32(), convert=_date),
    "timestamp_ntz": HiveType("TIMESTAMP", pa.timestamp("us"), convert=_naive),
    "timestamp": INSTANT,
    "interval day to second": HiveType("INTERVAL", pa.month_day_nano_interval(), convert=_span),
}


def _leaf(node: exp.DataType) -> HiveType:
    return kind_of(node.sql(dialect=DIALECT).replace(" ", "").lower())


def _members(node: exp.DataType) -> list[tuple[str, exp.DataType]]:
    return [(d.name, d.args["kind"]) for d in node.expressions]


def _name(node: exp.DataType) -> str:
    match node.this:
        case _T.ARRAY:
            return f"{_name(node.expressions[0])}[]"
        case _T.MAP:
            key, value = node.expressions
            return f"MAP({_name(key)}, {_name(value)})"
        case _T.STRUCT:
            inner = ", ".join(
                f"{exp.to_identifier(n).sql('duckdb')} {_name(k)}" for n, k in _members(node)
            )
            return f"STRUCT({inner})"
        case _:
            return _leaf(node).name


def _arrow(node: exp.DataType) -> pa.DataType:
    match node.this:
        case _T.ARRAY:
            return pa.list_(_arrow(node.expressions[0]))
        case _T.MAP:
            key, value = node.expressions
            return pa.map_(_arrow(key), _arrow(value))
        case _T.STRUCT:
            return pa.struct([pa.field(n, _arrow(k)) for n, k in _members(node)])
        case _:
            return _leaf(node).arrow


def _decoder(node: exp.DataType) -> Callable[[Any], Any]:
    """Makes values of what JSON says, null included."""
    match node.this:
        case _T.ARRAY:
            inner = _decoder(node.expressions[0])
            return lambda v: None if v is None else [inner(x) for x in v]
        case _T.MAP:
            key, value = (_decoder(e) for e in node.expressions)
            return lambda v: None if v is None else {key(k): value(x) for k, x in v.items()}
        case _T.STRUCT:
            members = [(n, _decoder(k)) for n, k in _members(node)]
            return lambda v: None if v is None else {n: d(v.get(n)) for n, d in members}
        case _T.BINARY | _T.VARBINARY:
            return lambda v: None if v is None else base64.b64decode(v)
        case _T.INT | _T.BIGINT | _T.SMALLINT | _T.TINYINT:
            return lambda v: None if v is None else int(v)
        case _T.FLOAT | _T.DOUBLE:
            return lambda v: None if v is None else float(v)
        case _:
            convert = _leaf(node).convert
            return lambda v: v if v is None or convert is None else convert(v)


def microseconds(moment: datetime.datetime) -> int:
    """An instant as microseconds since 1970."""
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1)
