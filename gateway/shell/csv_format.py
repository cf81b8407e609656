"""Results as CSV: the first rows cell by cell, the rest of a long result by DuckDB.

Both write the same text; a result with a column of a type that DuckDB writes otherwise is written
cell by cell to its end.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from gateway.shell.result import FETCH_ROWS, ShownResult
from gateway.shell.table import Style
from gateway.shell.values import file_text
from journal.model.result_column import ResultColumn

if TYPE_CHECKING:
    import pyarrow as pa

_QUOTE = '"'


def write_csv(result: ShownResult, out: TextIO, _style: Style, delimiter: str = ",") -> int:
    """Comma-separated values with a header; NULL is an empty cell, empty text a quoted one.

    Returns the number of rows.
    """
    cell = _cell_writer(delimiter)
    count = 0

    def write_rows(rows: Iterator[tuple[object, ...]]) -> None:
        nonlocal count
        for row in rows:
            out.write(delimiter.join([cell(v) for v in row]) + "\n")
            count += 1

    out.write(delimiter.join(cell(c.name) for c in result.columns) + "\n")
    write_rows(islice(result.rows, FETCH_ROWS))
    if count == FETCH_ROWS and result.stream is not None:
        # Only a long result is worth the time that loading DuckDB takes.
        from journal.local_engine.csv_text import can_write, csv_chunks

        columns = [ResultColumn(c.name, c.type) for c in result.columns]
        if can_write(columns):
            return count + result.stream(
                lambda batches: _write_batches(
                    batches, lambda counted: csv_chunks(counted, columns, delimiter), out
                )
            )
    write_rows(result.rows)
    return count


def _cell_writer(delimiter: str) -> Callable[[object], str]:
    risky = re.compile(f'["#\\r\\n{re.escape(delimiter)}]|^$')

    def cell(value: object) -> str:
        if type(value) is int:
            return str(value)
        if value is None:
            return ""
        text = value if isinstance(value, str) else file_text(value)
        return f'"{text.replace(_QUOTE, _QUOTE * 2)}"' if risky.search(text) else text

    return cell


def _write_batches(
    batches: Iterator[pa.RecordBatch],
    text_of: Callable[[Iterator[pa.RecordBatch]], Iterator[bytes]],
    out: TextIO,
) -> int:
    """Write the text of Arrow batches; returns the number of their rows."""
    count = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for batch in batches:
            count += batch.num_rows
            yield batch

    out.flush()
    buffer = getattr(out, "buffer", None)
    decode = codecs.getincrementaldecoder("utf-8")().decode
    for chunk in text_of(counted()):
        if buffer is None:
            out.write(decode(chunk))
        else:
            buffer.write(chunk)
    return count
