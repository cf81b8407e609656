"""Rows as the text of a CSV file, made by DuckDB of Arrow batches: far faster than cell by cell."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from journal.local_engine.errors import mapped
from journal.local_engine.in_memory import connect_in_memory
from journal.model.result_column import ResultColumn

_AS_IS = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
    | {"DECIMAL", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}
)
_NUMBER = "CASE WHEN isnan({0}) THEN 'nan'::DOUBLE ELSE {0}::DOUBLE END"
_CONVERTED = {"FLOAT": _NUMBER, "DOUBLE": _NUMBER, "BLOB": "'\\x' || lower(hex({0}))"}
"""What DuckDB writes otherwise than ``gateway.shell.values.file_text`` does, and how it is told."""
_CHUNK_BYTES = 1 << 20


def can_write(columns: Sequence[ResultColumn]) -> bool:
    """True if DuckDB writes every value of these columns as ``file_text`` does."""
    return all(_bare(c.type) in _AS_IS or _bare(c.type) in _CONVERTED for c in columns)


def csv_values(names: Sequence[str], columns: Sequence[ResultColumn]) -> list[str]:
    """What DuckDB is to select of columns with these names, so that their text is the same."""
    pairs = zip(names, columns, strict=True)
    return [_CONVERTED.get(_bare(column.type), "{0}").format(name) for name, column in pairs]


def csv_chunks(
    batches: Iterable[pa.RecordBatch], columns: Sequence[ResultColumn], delimiter: str
) -> Iterator[bytes]:
    """The lines of all rows, without a header, in pieces of at most a mebibyte of UTF-8.

    Two threads work: one takes batches and writes text into a pipe, the caller's reads it. Raises
    what ``batches`` raises. Whoever stops early ends both.
    """
    source = _Source(iter(batches))
    read, write = os.pipe()
    _widen(write)
    worker = threading.Thread(
        target=_write, args=(source, columns, delimiter, write), daemon=True, name="csv"
    )
    worker.start()
    try:
        while chunk := os.read(read, _CHUNK_BYTES):
            yield chunk
    finally:
        source.is_read = False
        os.close(read)
        worker.join()
    if source.error is not None:
        raise source.error


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole piece, so that it wakes its reader seldom; where the system can."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK_BYTES)


class _Source:
    """Batches for DuckDB; an error of theirs is kept, which DuckDB would only quote."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.error: BaseException | None = None
        self.is_read = True
        """False once nobody reads the text any more."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except BaseException as error:  # noqa: BLE001 - handed on to the thread that reads
            self.error = error


def _write(source: _Source, columns: Sequence[ResultColumn], delimiter: str, file: int) -> None:
    try:
        batches = iter(source)
        first = next(batches, None)
        if first is not None:
            with mapped():
                _copy(first, batches, columns, delimiter, file)
    except BaseException as error:  # noqa: BLE001 - handed on to the thread that reads
        if source.is_read:
            source.error = source.error or error
    finally:
        os.close(file)


def _copy(
    first: pa.RecordBatch,
    others: Iterator[pa.RecordBatch],
    columns: Sequence[ResultColumn],
    delimiter: str,
    file: int,
) -> None:
    names = [f"c{n}" for n in range(len(columns))]
    schema = pa.schema([pa.field(n, f.type) for n, f in zip(names, first.schema, strict=True)])

    def renamed() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays(first.columns, schema=schema)
        for batch in others:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    with connect_in_memory(None) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", pa.RecordBatchReader.from_batches(schema, renamed()))
        connection.execute(
            f"COPY (SELECT {', '.join(csv_values(names, columns))} FROM rows) TO '/dev/fd/{file}'"  # noqa: S608
            f" (FORMAT csv, HEADER false, DELIMITER '{delimiter}')"
        )


def _bare(type_: str) -> str:
    """A type without its parameters; lists stay what they are."""
    return type_ if type_.endswith("]") else type_.split("(")[0].upper()
