"""The rows of a cursor that scrolls, or that outlives its transaction: kept in a file of their own.

Places are counted as PostgreSQL does: 0 is before the first row, and one more than there are rows
is after the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import pyarrow as pa

from journal.local_engine.scratch import Scratch

EVERY = 1 << 62
"""How many rows ALL is."""


class FetchWay(Enum):
    """Where a FETCH or MOVE goes from the place of its cursor."""

    FORWARD = "forward"
    BACKWARD = "backward"
    ABSOLUTE = "absolute"
    RELATIVE = "relative"


class ScrolledRows:
    """Rows that a cursor goes over in any direction; ``close`` removes them."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self._scratch = Scratch()
        path = str(self._scratch.path / "rows.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as out:
            for batch in batches:
                out.write_batch(batch)
        self._file = pa.memory_map(path)
        self._rows: pa.Table = pa.ipc.open_file(self._file).read_all()
        self._place = 0

    def fetch(self, way: FetchWay, count: int) -> pa.Table:
        """The rows that a FETCH gives, in its order; the place moves with them."""
        after = self._rows.num_rows + 1
        before = self._place
        match way:
            case FetchWay.FORWARD:
                self._place = min(before + count, after)
                return self._rows.slice(before, max(self._place - before, 0))
            case FetchWay.BACKWARD:
                self._place = max(before - count, 0)
                places = range(before - 2, max(self._place - 1, 0) - 1, -1)
                return self._rows.take(pa.array(list(places), pa.int64()))
            case FetchWay.ABSOLUTE:
                place = count if count >= 0 else after + count
            case FetchWay.RELATIVE:
                place = before + count
        self._place = min(max(place, 0), after)
        has_row = 0 < self._place < after
        return self._rows.slice(self._place - 1, 1) if has_row else self._rows.slice(0, 0)

    def close(self) -> None:
        """Let go of the rows."""
        self._rows = self._rows.schema.empty_table()
        self._file.close()
        self._scratch.close()
