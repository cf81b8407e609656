"""Segments whose rows are in this process: few, and they never change, so they are never stale.

What is asked of small tables again and again, above all whether a key is taken, is then answered
without the server. Which segments a statement sees is its manifest's to say, not this cache's.
Thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from journal.relations import column
from journal.schema import Table
from journal.segment import Fields, Segment
from journal.stores import hive_layout as layout
from journal.stores.base import MemoryRows

if TYPE_CHECKING:
    from journal.hive.session import HiveSession

_ROWS_MAX = 1_000_000


class HeldSegments:
    """Rows by the path of their segment; the least recently read go first."""

    def __init__(self, rows_max: int = _ROWS_MAX) -> None:
        self._rows_max = rows_max
        self._held: OrderedDict[str, pa.Table] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def put(self, path: str, rows: pa.Table) -> None:
        """Hold the rows of a segment, in the types of its journal's columns."""
        with self._lock:
            if path not in self._held:
                self._held[path] = rows
                self._count += rows.num_rows
            while self._count > self._rows_max and len(self._held) > 1:
                self._count -= self._held.popitem(last=False)[1].num_rows

    def find(self, path: str) -> pa.Table | None:
        """The rows of a segment, if they are held."""
        with self._lock:
            found = self._held.get(path)
            if found is not None:
                self._held.move_to_end(path)
            return found

    def rows(
        self, session: HiveSession, names: layout.Names, table: Table, segments: Sequence[Segment]
    ) -> list[MemoryRows]:
        """The rows of segments of ``table``; those that are not held yet are read from Spark."""
        paths = {s.files[0].path: s for s in segments}
        held = {path: self.find(path) for path in paths}
        missing = [(path, paths[path].fields) for path, rows in held.items() if rows is None]
        for path, rows in _read(session, names, table, missing):
            self.put(path, rows)
            held[path] = rows
        return [
            MemoryRows(rows, paths[path].counts, paths[path].fields)
            for path, rows in held.items()
            if rows is not None
        ]


def _read(
    session: HiveSession, names: layout.Names, table: Table, missing: Sequence[tuple[str, Fields]]
) -> Iterable[tuple[str, pa.Table]]:
    def place(item: tuple[str, Fields]) -> str:
        return item[0].partition("/")[0]

    for name, group in groupby(sorted(missing, key=place), key=place):
        listed = list(group)
        fields = listed[0][1]
        query = layout.rows_of(names, [path for path, _ in listed])
        columns = layout.journal_fields(table, fields)
        outputs = [*[column(n) for n, _ in columns], column(layout.PARTITION)]
        query.set("expressions", outputs)
        found = session.from_spark(query)
        where = found.column(len(columns))
        rows = session.typed(found.select(range(len(columns))), columns)
        for path, _ in listed:
            mask = pc.equal(where, path.partition("/")[2])
            yield f"{name}/{path.partition('/')[2]}", rows.filter(mask)
