"""Arrow rows as the Python values that a query gives, without a store at hand."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from journal.model.result_column import ResultColumn

_SMALL_ROWS = 2048
"""Up to so many rows pyarrow is the faster one, and a store need not be loaded for them."""
_PER_THREAD = threading.local()


def python_rows(
    batch: pa.RecordBatch, columns: Sequence[ResultColumn], zone: str | None
) -> list[tuple[Any, ...]]:
    """The rows of a batch; ``zone`` is the time zone in which moments are shown."""
    if batch.num_rows <= _SMALL_ROWS and all(map(_is_plain, batch.schema.types)):
        return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    connection = _converter(zone)
    found: list[tuple[Any, ...]] = connection.from_arrow(pa.Table.from_batches([batch])).fetchall()
    return found


def _is_plain(kind: pa.DataType) -> bool:
    """True for types whose values are the same to pyarrow and to the store."""
    return bool(
        kinds.is_boolean(kind)
        or kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_date32(kind)
        or kinds.is_null(kind)
    )


def _converter(zone: str | None) -> Any:
    from journal.local_engine.in_memory import connect_in_memory

    known: dict[str | None, Any] = _PER_THREAD.__dict__.setdefault("converters", {})
    if zone not in known:
        connection = connect_in_memory(None)
        if zone is not None:
            connection.execute(f"SET TimeZone = '{zone.replace(chr(39), chr(39) * 2)}'")
        known[zone] = connection
    return known[zone]
