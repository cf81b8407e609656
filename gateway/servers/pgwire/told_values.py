"""Rows in the types that a client was told of a prepared statement.

A result may have another type than its description found, which saw no values: DuckDB computes with
a value of five in 32 bits, and with one of five billion in 64. Clients read the bytes of a value
by the type that they were told, so no others may be sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from gateway.servers.pgwire import types
from gateway.servers.pgwire.messages import BINARY
from gateway.servers.pgwire.text_style import TextStyle
from gateway.servers.pgwire.types import element_type, field_of, innermost_type, pg_type
from gateway.servers.pgwire.values_text import text_column
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn

_ARROW: dict[types.PgType, pa.DataType] = {
    types.INT2: pa.int16(),
    types.INT4: pa.int32(),
    types.INT8: pa.int64(),
    types.FLOAT4: pa.float32(),
    types.FLOAT8: pa.float64(),
    types.DATE: pa.date32(),
    types.TIMESTAMP: pa.timestamp("us"),
}
_NUMBERS = {
    *(types.INT2, types.INT4, types.INT8, types.FLOAT4, types.FLOAT8, types.NUMERIC),
}


class ToldValues:
    """Brings the columns of batches into the types that were told."""

    def __init__(
        self,
        told: Sequence[ResultColumn] | None,
        columns: Sequence[ResultColumn],
        formats: Sequence[int],
        style: TextStyle,
    ) -> None:
        """``told`` are the columns that were described, ``columns`` those that came of it."""
        self._style = style
        self._columns = columns
        pairs = zip(told, columns, strict=True) if told and len(told) == len(columns) else ()
        self._changed: dict[int, str] = {}
        for place, (said, found) in enumerate(pairs):
            if said.type != found.type and field_of(said).oid != field_of(found).oid:
                if _is_convertible(said.type, found.type):
                    self._changed[place] = said.type
                elif formats[place] == BINARY:
                    raise _unlike(found.type, said.type)

    @property
    def columns(self) -> Sequence[ResultColumn]:
        """The columns with the types by which their values are now written."""
        if not self._changed:
            return self._columns
        return [
            ResultColumn(column.name, self._changed.get(place, column.type))
            for place, column in enumerate(self._columns)
        ]

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with such columns; raises STALE_PREPARED for values that do not fit."""
        for place, kind in self._changed.items():
            found = _converted(batch.column(place), self._columns[place].type, kind, self._style)
            batch = batch.set_column(place, batch.schema.field(place).name, found)
        return batch


def _is_convertible(told: str, found: str) -> bool:
    """True for texts, and for what Arrow makes of the other."""
    inner, other = element_type(told), element_type(found)
    if inner is not None and other is not None:
        return pg_type(inner) is not types.TEXT and _is_convertible(inner, other)
    if inner is not None or pg_type(told) is types.TEXT:
        return inner is None
    kinds = {pg_type(told), pg_type(found)}
    is_text = pg_type(found) is types.TEXT and pg_type(told) is types.JSONB
    return is_text or kinds <= _NUMBERS or kinds == {types.DATE, types.TIMESTAMP}


def _converted(column: pa.Array, name: str, kind: str, style: TextStyle) -> pa.Array:
    told = pg_type(innermost_type(kind))
    if element_type(kind) is None and told is types.TEXT:
        return text_column(column, name, style).cast(pa.string())
    if told is types.NUMERIC and pa.types.is_floating(column.type):
        return pa.array([None if v is None else _digits(v) for v in column.to_pylist()], "string")
    target = _ARROW.get(told)
    if target is None:
        return column
    for _ in range(kind.count("[")):
        target = pa.list_(target)
    try:
        return column.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _unlike(name, kind) from error


def _digits(value: float) -> str:
    """A number as the text of a numeric.

    >>> _digits(1e20), _digits(0.5), _digits(float("nan"))
    ('100000000000000000000', '0.5', 'NaN')
    """
    return f"{Decimal(repr(value)):f}" if math.isfinite(value) else str(Decimal(value))


def _unlike(name: str, kind: str) -> PalimpsestError:
    return PalimpsestError(
        Code.STALE_PREPARED,
        f"a column of the prepared statement gives {name}, and was described as {kind}",
        advice="cast the value, or give its parameters types",
    )
