"""Rows by key out of sealed files, from row groups that stay decoded in memory.

    asked once --> the store reads it     asked again, and there is room --> decoded, and kept

The store decodes a row group for each row that is looked up in it; here that is done once. Files of
segments never change, so nothing kept gets out of date: which files count, the manifest of whoever
asks says. Bounded by bytes: a group makes room for one that is asked for more often. What is not
known here is left to the store. Thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import SegmentFile, Tier
from journal.transactions.lookup import SEALED, by_file
from journal.transactions.plain_rows import JournalRow, Key, Row, later, of_arrow
from journal.transactions.state import TableState

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BYTES_MAX = 64 << 20
_FILES_MAX = 1024
"""Of so many files the bounds of their groups are known."""
_GROUPS_MAX = 4
"""A key that more groups may hold is left to the store: its table is not ordered by it."""
_ASKED_MIN = 2
"""A group is decoded when it is asked for so often."""
_COUNTED_MAX = 20_000
"""After so many questions, how often each group was asked for counts half."""

Check = Callable[[Iterable[SegmentFile]], None]
Place = tuple[str, int]
"""The path of a file, and which of its row groups."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One row group of a file: the bounds of the first key column, if known, and its bytes."""

    place: Place
    low: Any
    high: Any
    bytes: int

    def may_hold(self, key: object) -> bool:
        known = type(self.low) is type(key) and type(self.high) is type(key)
        return not known or self.low <= key <= self.high


class SealedRows:
    """See the module's head. ``check`` raises for a file that is missing or was altered."""

    def __init__(
        self,
        root: Path,
        check: Callable[[Iterable[SegmentFile]], None],
        bytes_max: int = _BYTES_MAX,
    ) -> None:
        self._root = root
        self._check = check
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[_Group, ...]] = OrderedDict()
        self._decoded: OrderedDict[Place, pa.Table] = OrderedDict()
        self._asked: dict[Place, int] = {}
        self._questions = 0

    def __len__(self) -> int:
        """How many row groups are decoded."""
        return len(self._decoded)

    def newest(self, table: Table, key: Key, state: TableState) -> Row | None:
        """What a key shows in the sealed segments of a state; None if that is not known here."""
        files = _files(table, key, state)
        if files is None:
            return None
        try:
            self._check(files)
            return self._newest(table, key, files)
        except (PalimpsestError, OSError, pa.ArrowException):
            # The store says what is wrong.
            return None

    def forget(self, paths: Iterable[str]) -> None:
        """Let go of files that no manifest lists any more."""
        gone = set(paths)
        with self._lock:
            for path in gone:
                self._files.pop(path, None)
            for place in [p for p in self._decoded if p[0] in gone]:
                self._bytes -= self._decoded.pop(place).nbytes
            for place in [p for p in self._asked if p[0] in gone]:
                del self._asked[place]

    def _newest(self, table: Table, key: Key, files: list[SegmentFile]) -> Row | None:
        groups = [g for f in files for g in self._groups(table, f.path) if g.may_hold(key[0])]
        if len(groups) > _GROUPS_MAX:
            return None
        known = [self._rows(group) for group in groups]
        row = Row(0, None)
        for rows in known:
            found = None if rows is None else _matching(table, key, rows)
            if found is None:
                return None
            row = reduce(later, _states(found), row)
        return row

    def _groups(self, table: Table, path: str) -> tuple[_Group, ...]:
        """The row groups of a file, with the bounds of the first key column."""
        with self._lock:
            found = self._files.get(path)
            if found is not None:
                self._files.move_to_end(path)
                return found
        with opened_file(self._root / path) as file:
            found = tuple(_described(path, file.metadata, table.key[0]))
        with self._lock:
            self._files[path] = found
            if len(self._files) > _FILES_MAX:
                self._files.popitem(last=False)
        return found

    def _rows(self, group: _Group) -> pa.Table | None:
        """The rows of a group, decoded now if it is worth that; None if it is not."""
        with self._lock:
            self._count(group.place)
            kept = self._decoded.get(group.place)
            if kept is not None:
                self._decoded.move_to_end(group.place)
                return kept
            if not self._is_worth(group):
                return None
        with opened_file(self._root / group.place[0]) as file:
            rows = file.read_row_group(group.place[1], use_threads=False)
        with self._lock:
            if group.place not in self._decoded:
                self._decoded[group.place] = rows
                self._bytes += rows.nbytes
                while self._bytes > self._bytes_max:
                    _, gone = self._decoded.popitem(last=False)
                    self._bytes -= gone.nbytes
        return rows

    def _count(self, place: Place) -> None:
        self._asked[place] = self._asked.get(place, 0) + 1
        self._questions += 1
        if self._questions >= _COUNTED_MAX:
            self._questions = 0
            self._asked = {p: n // 2 for p, n in self._asked.items() if n > 1}

    def _is_worth(self, group: _Group) -> bool:
        """True for a group that is asked for again, and more often than those that would go."""
        asked, needed = self._asked[group.place], self._bytes + group.bytes - self._bytes_max
        if asked < _ASKED_MIN or group.bytes > self._bytes_max // 4:
            return False
        for place, rows in self._decoded.items():
            if needed <= 0:
                break
            if 2 * self._asked.get(place, 0) >= asked:
                return False
            needed -= rows.nbytes
        return True


def _files(table: Table, key: Key, state: TableState) -> list[SegmentFile] | None:
    """The files that may hold a key; None where not all sealed rows can be read file by file."""
    segments = [s for s in state.manifest.segments if s.tier is not Tier.HISTORY]
    readable = by_file(table, state)
    if any(s.tier not in SEALED or s.tier not in readable for s in segments):
        return None
    return [f for s in segments for f in s.files if f.may_hold(key[0])]


def opened_file(path: Path) -> pq.ParquetFile:
    """A Parquet file, mapped; raises OSError or pyarrow's ArrowException."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, memory_map=True, pre_buffer=False)


def _described(path: str, metadata: pq.FileMetaData, column: str) -> Iterator[_Group]:
    names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        found = group.column(names.index(column)).statistics
        low = high = None
        if found is not None and found.has_min_max:
            low, high = found.min, found.max
        yield _Group((path, number), low, high, group.total_byte_size)


def _matching(table: Table, key: Key, rows: pa.Table) -> list[JournalRow] | None:
    """The journal rows of a key; None for values that Python does not have."""
    same = None
    for name, value in zip(table.key, key, strict=True):
        column = rows.column(name)
        equal = pc.equal(column, pa.scalar(value, column.type))
        same = equal if same is None else pc.and_(same, equal)
    return of_arrow(table, rows.filter(same))


def _states(rows: Iterable[JournalRow]) -> Iterator[Row]:
    """What rows say of their key: an ending one that there is none, up to what is written then.

    The row that takes its place has the same version, and counts; it may have been removed since.
    """
    for values, start, end in rows:
        yield Row(start, values) if end is None else Row(end, None)
