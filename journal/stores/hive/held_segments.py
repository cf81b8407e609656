"""Small segments whose rows this process keeps in memory; they never change.

What is asked of small tables again and again, above all whether a key is taken, is then answered
without the server; a segment that is asked for keys gets an index of them. Which segments a
statement sees is its manifest's to say, not this cache's.
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

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Fields, Segment, Tier
from journal.model.store_session import MemoryRows
from journal.model.version import Version
from journal.sql.relations import column
from journal.sql.row_layout import fields_of, journal_fields
from journal.stores.hive import layout
from journal.stores.hive.segment_check import damaged
from journal.transactions.plain_rows import Key, Row, of_arrow

if TYPE_CHECKING:
    from journal.stores.hive.session import HiveSession

_ROWS_MAX = 1_000_000
_INDEXED_MAX = 100_000
"""Of how many rows of a table's keys are found here; the index of more takes long to make."""

_Index = dict[Key, tuple[Version, int]]
"""By key the version of its newest row, and the place of that row; below 0: it was deleted."""


@dataclass(slots=True)
class _Held:
    rows: pa.Table
    key: tuple[str, ...] = ()
    index: _Index | None = None


class HeldSegments:
    """Rows by the path of their segment; the least recently read go first."""

    def __init__(self, rows_max: int = _ROWS_MAX) -> None:
        self._rows_max = rows_max
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def put(self, path: str, rows: pa.Table) -> None:
        """Hold the rows of a segment, in the types of its journal's columns."""
        with self._lock:
            if path not in self._held:
                self._held[path] = _Held(rows)
                self._count += rows.num_rows
            while self._count > self._rows_max and len(self._held) > 1:
                self._count -= self._held.popitem(last=False)[1].rows.num_rows

    def find(self, path: str) -> pa.Table | None:
        """The rows of a segment, if they are held."""
        found = self._find(path)
        return None if found is None else found.rows

    def _find(self, path: str) -> _Held | None:
        with self._lock:
            found = self._held.get(path)
            if found is not None:
                self._held.move_to_end(path)
            return found

    def newest(self, table: Table, key: Key, segments: Sequence[Segment]) -> Row | None:
        """What a key shows in the segments of a manifest; None where one of them is not held."""
        read = [s for s in segments if s.tier is not Tier.HISTORY]
        if sum(s.counts.total for s in read) > _INDEXED_MAX:
            return None
        newest, place, source = 0, -1, None
        for segment in read:
            held = self._find(segment.files[0].path)
            if held is None or segment.fields != fields_of(table):
                return None
            found = _indexed(table, held).get(key)
            if found is not None and (found[0] > newest or (found[0] == newest and found[1] >= 0)):
                newest, place, source = *found, held.rows
        if source is None or place < 0:
            return Row(newest, None)
        values = of_arrow(table, source.slice(place, 1))
        return None if values is None else Row(newest, values[0][0])

    def forget(self, paths: Iterable[str]) -> None:
        """Let go of segments that are no more."""
        with self._lock:
            for path in paths:
                gone = self._held.pop(path, None)
                self._count -= 0 if gone is None else gone.rows.num_rows

    def rows(
        self, session: HiveSession, names: layout.Names, table: Table, segments: Sequence[Segment]
    ) -> list[MemoryRows]:
        """The rows of segments of ``table``; those that are not held yet are read from Spark.

        Raises SEGMENT_DAMAGED if there are not as many of them as are listed.
        """
        paths = {s.files[0].path: s for s in segments}
        held = {path: self.find(path) for path in paths}
        missing = [(path, paths[path].fields) for path, rows in held.items() if rows is None]
        for path, rows in _read(session, names, table, missing):
            if rows.num_rows != (listed := paths[path].counts.total):
                raise damaged(names, path, rows.num_rows, listed)
            self.put(path, rows)
            held[path] = rows
        return [
            MemoryRows(rows, paths[path].counts, paths[path].fields)
            for path, rows in held.items()
            if rows is not None
        ]


def _indexed(table: Table, held: _Held) -> _Index:
    """The rows of a segment by key; of rows with equal versions the open one counts."""
    if held.index is not None and held.key == table.key:
        return held.index
    keys = zip(*[held.rows.column(k).to_pylist() for k in table.key], strict=True)
    ends = table.ends
    versions = [held.rows.column(name).cast(pa.int64()).to_pylist() for name in ends]
    index: _Index = {}
    for place, (key, start, end) in enumerate(zip(keys, *versions, strict=True)):
        if end is not None and end != start:
            continue
        before = index.get(key)
        if before is None or before[0] < start or (before[0] == start and end is None):
            index[key] = (start, place if end is None else -1)
    held.index, held.key = index, table.key
    return index


def _read(
    session: HiveSession, names: layout.Names, table: Table, missing: Sequence[tuple[str, Fields]]
) -> Iterable[tuple[str, pa.Table]]:
    def place(item: tuple[str, Fields]) -> str:
        return item[0].partition("/")[0]

    for name, group in groupby(sorted(missing, key=place), key=place):
        listed = list(group)
        fields = listed[0][1]
        query = layout.rows_of(names, [path for path, _ in listed])
        columns = journal_fields(table, fields)
        outputs = [*[column(n) for n, _ in columns], column(layout.PARTITION)]
        query.set("expressions", outputs)
        found = session.from_spark(query, (*columns, (layout.PARTITION, "VARCHAR")))
        where = found.column(len(columns))
        rows = session.typed(found.select(range(len(columns))), columns)
        for path, _ in listed:
            mask = pc.equal(where, path.partition("/")[2])
            yield f"{name}/{path.partition('/')[2]}", rows.filter(mask)
