"""Columns of a segment file that was just written, read back for its filters.

Arrow's reader reads columns of plain types: of those it gives the values that DuckDB gives, and
several files can be read at once. DuckDB reads the others. Reads local files, decides nothing about
filters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.filters.hashing import can_hash
from journal.files.filters.sidecar import FilterBuilder

BATCH_ROWS = 30_720
"""Rows read at a time: what is hashed is still in the cache."""

Rows = Callable[[Sequence[str]], Iterable[pa.RecordBatch]]
"""DuckDB's reader of the file: the rows of some columns, batch by batch."""


def take_in(builder: FilterBuilder, path: Path, columns: Collection[str], rows: Rows) -> None:
    """Let a builder see the values of some columns of a file."""
    with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        plain = {field.name for field in file.schema_arrow if can_hash(field.type)}
        if not plain.issuperset(builder.key):
            # The columns of a key are hashed together, so one reader reads them all.
            plain.difference_update(builder.key)
        by_arrow = [name for name in columns if name in plain]
        if by_arrow:
            for batch in file.iter_batches(BATCH_ROWS, columns=by_arrow, use_threads=False):
                # Asked for "a", the reader gives a column "a.b" as well.
                builder.add(batch.select(by_arrow))
    by_duckdb = [name for name in columns if name not in plain]
    if by_duckdb:
        for batch in rows(by_duckdb):
            builder.add(batch)
