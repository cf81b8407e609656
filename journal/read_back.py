"""Columns of a segment file that was just written, read back for its filters.

Arrow's own reader takes half of what DuckDB's does, and gives the same values for the types listed
here; any other is left to DuckDB. Reads local files, decides nothing about filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

BATCH_ROWS = 30_720
"""Rows read at a time: what is hashed is still in the cache."""


def plain_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
    """The rows of some columns, batch by batch; None unless all are of plain types."""
    with pq.ParquetFile(path, memory_map=True) as file:
        kinds = {field.name: field.type for field in file.schema_arrow}
    if not all(name in kinds and _is_plain(kinds[name]) for name in columns):
        return None
    return _batches(path, columns)


def _batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        yield from file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=False)


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_binary(kind)
        or types.is_integer(kind)
        or types.is_boolean(kind)
        or types.is_date32(kind)
    )
