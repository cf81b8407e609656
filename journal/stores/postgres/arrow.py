"""Rows that the client library gave, as Arrow tables. Pure: no driver."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from journal.sql.array_text import dimensions
from journal.sql.record_text import record_text
from journal.stores.postgres.dialect.types import NUMERIC, WHOLE, arrow_type

_DIGITS_MAX = 38
_MARK = {b"palimpsest": b"HUGEINT"}


def arrow_table(
    names: Sequence[str], kinds: Sequence[tuple[int, int]], rows: Sequence[tuple[Any, ...]]
) -> pa.Table:
    """The rows as a table; ``kinds`` are type and modifier of each column."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = [_array(list(values), *kind) for values, kind in zip(columns, kinds, strict=True)]
    fields = [
        pa.field(name, array.type, metadata=_MARK if modifier == WHOLE else None)
        for name, array, (_, modifier) in zip(names, arrays, kinds, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def whole_numbers(table: pa.Table) -> list[int]:
    """The places of columns of HUGEINT, which Arrow has no type for."""
    return [place for place, field in enumerate(table.schema) if field.metadata == _MARK]


def intervals(table: pa.Table) -> list[int]:
    """The places of columns of intervals, and of lists of them."""
    kinds = [field.type for field in table.schema]
    inner = [kind.value_type if pa.types.is_list(kind) else kind for kind in kinds]
    return [place for place, kind in enumerate(inner) if pa.types.is_interval(kind)]


def _array(values: list[Any], oid: int, modifier: int) -> pa.Array:
    kind = arrow_type(oid, modifier)
    if kind is None and oid == NUMERIC:
        return _numeric(values)
    if kind is not None and pa.types.is_list(kind) and kind.value_type == pa.uuid():
        return _lists_of_uuids(values, kind)
    if kind is not None and pa.types.is_string(kind):
        values = [None if v is None else _text(v) for v in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        if kind is not None and pa.types.is_list(kind):
            return _arrays_of_arrays(values, kind)
        return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _text(value: Any) -> str:
    """A value of a type that has none here; a row is a tuple of texts."""
    if type(value) is list:
        return array_text([None if item is None else _text(item) for item in value])
    return record_text(value) if type(value) is tuple else str(value)


def _lists_of_uuids(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Lists of any depth, which Arrow makes of their bytes alone; texts where depths differ."""
    depths = {dimensions(value) for value in values if value}
    if len(depths) > 1:
        return pa.array([None if v is None else array_text(v) for v in values], pa.string())
    stored = kind.value_type.storage_type
    for _ in range(max(depths, default=1)):
        stored = pa.list_(stored)
    return _of_uuids(pa.array([_bytes_of(value) for value in values], stored))


def _bytes_of(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes_of(item) for item in value]
    return None if value is None else value.bytes


def _of_uuids(stored: pa.Array) -> pa.Array:
    """The same lists, whose last elements are UUIDs."""
    if not pa.types.is_list(stored.type):
        return pa.ExtensionArray.from_storage(pa.uuid(), stored)
    return pa.ListArray.from_arrays(stored.offsets, _of_uuids(stored.values), mask=stored.is_null())


def _arrays_of_arrays(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Arrays of several dimensions, which the server's types do not tell from those of one.

    They are texts of PostgreSQL's where rows have different ones.
    """
    depths = {dimensions(value) for value in values if value}
    if len(depths) > 1:
        return pa.array([None if v is None else array_text(v) for v in values], pa.string())
    for _ in range(max(depths, default=1) - 1):
        kind = pa.list_(kind)
    return pa.array(values, kind)


def _numeric(values: list[Any]) -> pa.Array:
    """Numbers without a declared scale get the largest that occurs; no digit of any is lost.

    NaN, the infinities and 1e-1000 are no decimals of Arrow: where they occur, all are text.
    """
    numbers = [v for v in values if isinstance(v, decimal.Decimal)]
    try:
        scale = max([0, *(-int(n.as_tuple().exponent) for n in numbers)])
        whole = max([0, *(n.adjusted() + 1 for n in numbers)])
        if whole + scale <= _DIGITS_MAX:
            return pa.array(values, pa.decimal128(_DIGITS_MAX, scale))
        if scale <= 2 * _DIGITS_MAX:
            return pa.array(values, pa.decimal256(2 * _DIGITS_MAX, scale))
    except (ValueError, pa.ArrowInvalid):
        pass
    return pa.array([None if v is None else f"{v:f}" for v in values], pa.string())


def array_text(values: Sequence[Any]) -> str:
    """An array as PostgreSQL writes one."""
    items = []
    for value in values:
        if value is None:
            items.append("NULL")
        elif type(value) is int:
            items.append(str(value))
        elif isinstance(value, list | tuple) and not isinstance(value, pa.MonthDayNano):
            items.append(array_text(value))
        else:
            text = interval_text(value) if isinstance(value, pa.MonthDayNano) else str(value)
            if "\\" in text or '"' in text:
                text = text.replace("\\", "\\\\").replace('"', '\\"')
            items.append(f'"{text}"')
    return "{" + ",".join(items) + "}"


def interval_text(value: pa.MonthDayNano) -> str:
    """An interval of Arrow as PostgreSQL reads it, to the microsecond."""
    months, days, nanoseconds = value
    return f"{months} months {days} days {nanoseconds // 1000} microseconds"
