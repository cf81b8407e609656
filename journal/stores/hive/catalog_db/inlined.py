"""Rows of small commits in the catalog: an Arrow stream as text for each commit and table.

The stream's metadata has the columns that the rows were written in, and how many of each kind there
are. When rows are written and removed is decided above.
"""

from __future__ import annotations

import base64
import json
from dataclasses import astuple

import pyarrow as pa
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.segment import RowCounts
from journal.model.store_session import MemoryRows, RecordSession
from journal.model.version import Version
from journal.records.catalog_format import JournalRow
from journal.records.schema import INLINED_ROWS
from journal.records.statements import by, delete, execute, insert, select
from journal.transactions.inlined_rows import NOTHING_INLINED, InlinedRows
from journal.transactions.state import TableState

_FIELDS, _COUNTS, _FIRST = b"palimpsest_fields", b"palimpsest_counts", b"palimpsest_first"
_ADD, _REMOVE = (
    insert(INLINED_ROWS),
    delete(INLINED_ROWS, {"table_id": exp.EQ, "version": exp.LTE}),
)
_ROWS = select(
    INLINED_ROWS, ["version", "rows"], {"table_id": exp.EQ, "version": exp.GT}, order=["version"]
)
_OLDEST = select(INLINED_ROWS, ["version"], by("table_id"), order=["version"], limit=1)


def add_rows(
    session: RecordSession, table_id: int, rows: MemoryRows, first: Version, last: Version
) -> None:
    """Keep the rows that a commit, whose statements had versions ``first`` to ``last``, wrote."""
    execute(session, _ADD, [table_id, last, _text(rows, first)])


def remove_rows(session: RecordSession, table_id: int, last: Version) -> None:
    """Forget the rows of commits up to a version."""
    execute(session, _REMOVE, [table_id, last])


def load_rows(
    session: RecordSession, found: JournalRow, before: TableState | None = None
) -> InlinedRows:
    """The rows of a journal as the session's transaction sees them; ``before`` was seen earlier.

    Unless some were removed, only what came since is read. Raises WAREHOUSE_FORMAT if there are not
    as many of them as are counted.
    """
    if not found.counts.total:
        return NOTHING_INLINED
    known = NOTHING_INLINED if before is None else before.inlined
    if known and execute(session, _OLDEST, [found.table_id]) != [(known.oldest,)]:
        known = NOTHING_INLINED
    for version, text in execute(session, _ROWS, [found.table_id, known.last]):
        rows, first = _rows(text)
        known = known.appended(rows, first, version)
    if known.counts != found.counts:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            f"the catalog of the store is damaged: it holds {known.counts.total} inlined rows of"
            f" journal {found.table_id}, not {found.counts.total}",
            advice="restore it from a backup",
        )
    return known


def _text(rows: MemoryRows, first: Version) -> str:
    told = {
        _FIELDS: json.dumps(rows.fields).encode(),
        _COUNTS: json.dumps(astuple(rows.counts)).encode(),
        _FIRST: str(first).encode(),
    }
    # Extension types name themselves in the metadata of their columns, which stays.
    written = rows.rows.replace_schema_metadata(told)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, written.schema) as stream:
        stream.write_table(written)
    return base64.b64encode(sink.getvalue()).decode()


def _rows(text: str) -> tuple[MemoryRows, Version]:
    read = pa.ipc.open_stream(base64.b64decode(text)).read_all()
    told = read.schema.metadata
    fields = tuple((name, kind) for name, kind in json.loads(told[_FIELDS]))
    counts = RowCounts(*json.loads(told[_COUNTS]))
    rows = read.replace_schema_metadata(None)
    return MemoryRows(rows, counts, fields), int(told[_FIRST])
