"""Columns of a segment file that was just written, read back for its filters.

Columns of plain types that stand alone are read one by one: text from its pages as it lies there,
of text with a dictionary nothing but that. What cannot be read so Arrow's reader gives, in half the
time that DuckDB's takes and with the same values for the types listed here; the rest is left to
DuckDB. Reads local files, decides nothing about filters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.filters.jit import expect
from journal.files.filters.sidecar import ColumnValues, FilterBuilder
from journal.files.filters.text_pages import texts

BATCH_ROWS = 30_720
"""Rows read at a time: what is hashed is still in the cache."""

Rows = Callable[[Sequence[str]], Iterable[pa.RecordBatch]]
"""DuckDB's reader of the file: the rows of some columns, batch by batch."""


def take_in(builder: FilterBuilder, path: Path, columns: Collection[str], rows: Rows) -> None:
    """Let a builder see the values of some columns of a file, ``rows`` where nothing else can."""
    with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        kinds = {field.name: field.type for field in file.schema_arrow}
        plain = {name for name in columns if name in kinds and _is_plain(kinds[name])}
        alone = [name for name in columns if name in plain and builder.takes_alone(name)]
        expect(file.metadata.num_rows * len(columns))
        for name in alone:
            for part in _column(file, path, name, kinds[name]):
                builder.take(name, part)
        together = [name for name in columns if name not in alone]
        is_plain = plain.issuperset(together)
        for batch in _batches(file, together) if is_plain else rows(together):
            builder.add(batch)


def _batches(file: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if columns:
        yield from file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=False)


def _column(
    file: pq.ParquetFile, path: Path, name: str, kind: pa.DataType
) -> Iterator[ColumnValues]:
    """The values of one column; of a row group that has a dictionary each once."""
    leaf = _leaf(file.schema, name)
    if leaf is None or not _is_text(kind):
        for batch in file.iter_batches(BATCH_ROWS, columns=[name], use_threads=False):
            yield from _decoded(pa.chunked_array([batch.column(name)]))
        return
    levels = file.schema.column(leaf).max_definition_level
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
        for group in range(file.metadata.num_row_groups):
            chunk = file.metadata.row_group(group).column(leaf)
            coded = chunk.has_dictionary_page
            parts = None if coded else texts(whole, chunk, kind, levels)
            yield from parts or _read(path, file.metadata, group, name, coded=coded)


def _read(
    path: Path, metadata: pq.FileMetaData, group: int, name: str, *, coded: bool
) -> Iterator[ColumnValues]:
    """A row group's values by a reader of its own: of a dictionary each once."""
    names = [name] if coded else None
    with pq.ParquetFile(
        path, metadata=metadata, memory_map=True, pre_buffer=False, read_dictionary=names
    ) as file:
        yield from _decoded(file.read_row_group(group, [name], use_threads=False)[name])


def _decoded(rows: pa.ChunkedArray) -> Iterator[ColumnValues]:
    for chunk in rows.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk.drop_null()
        yield ColumnValues(values, len(chunk) - chunk.null_count, chunk.null_count)


def _leaf(schema: pq.ParquetSchema, name: str) -> int | None:
    """Where a column stands that is no part of another; None if it cannot be told."""
    found = [i for i in range(len(schema)) if schema.column(i).path == name]
    if len(found) != 1 or schema.column(found[0]).max_repetition_level:
        return None
    return found[0]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        _is_text(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind)
    )
