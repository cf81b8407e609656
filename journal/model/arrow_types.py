"""Types of Arrow by the names that the canonical dialect has for them. Pure."""

from __future__ import annotations

import pyarrow as pa

from journal.model.result_column import ResultColumn

_NAMES = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int8, "TINYINT"),
    (pa.types.is_int16, "SMALLINT"),
    (pa.types.is_int32, "INTEGER"),
    (pa.types.is_int64, "BIGINT"),
    (pa.types.is_float32, "FLOAT"),
    (pa.types.is_float64, "DOUBLE"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_time, "TIME"),
    (pa.types.is_binary, "BLOB"),
    (pa.types.is_large_binary, "BLOB"),
    (pa.types.is_duration, "INTERVAL"),
    (pa.types.is_interval, "INTERVAL"),
)


def arrow_columns(table: pa.Table) -> list[ResultColumn]:
    """The columns of an Arrow table, as a query of it would have them."""
    return [ResultColumn(field.name, _name(field.type)) for field in table.schema]


def _name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"{_name(kind.value_type)}[]"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return next((name for matches, name in _NAMES if matches(kind)), "VARCHAR")
