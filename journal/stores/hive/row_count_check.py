"""Checks that Spark reads as many rows of segments as manifests list.

    bytes as when their rows were last counted    -> as listed
    bytes that are new, few rows                  -> counted beside the query
                        many rows                 -> counted in a thread, the next look tells

So rows are counted once for what a commit or a job wrote, and once more whenever files changed.
Rows that were exchanged for as many others are not found. Thread-safe; repairs nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.stores.hive.client.connection import HiveConnection, Row
from journal.stores.hive.sizes import Group, Size, count, question, read_sizes

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

COUNTED_AT_ONCE = 1_000_000
"""The rows of so many are counted while a query runs; of more in a thread."""
_KNOWN_MAX = 100_000
"""Of how many segments sizes are remembered; those of groups that were counted first go first."""


@dataclass(frozen=True, slots=True)
class RowCountDifference:
    """A segment that has other rows than are listed of it; ``listed`` 0: at least one."""

    path: str
    there: int
    listed: int


@dataclass(frozen=True, slots=True)
class SizeQuery:
    """What is asked of a session about groups, and the groups whose rows are counted with it."""

    groups: tuple[Group, ...]
    counted: tuple[Group, ...]
    listed: Mapping[str, int]
    texts: tuple[str, ...]


class Whole:
    """See the module's head; of one process and store."""

    def __init__(self, journal: HiveJournal) -> None:
        self._journal = journal
        self._known: OrderedDict[Group, Size] = OrderedDict()
        self._count_known = 0
        self._waiting: dict[Group, Mapping[str, int]] = {}
        self._differing: dict[Group, list[RowCountDifference]] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def questions(
        self, connection: HiveConnection, groups: Sequence[Group], listed: Mapping[str, int]
    ) -> SizeQuery:
        """What is to be asked about groups, of which so many rows are listed by path."""
        with self._lock:
            new = [g for g in groups if g not in self._known and g.rows <= COUNTED_AT_ONCE]
        texts = [self._question(connection, groups), *(self._counting(connection, g) for g in new)]
        return SizeQuery(tuple(groups), tuple(new), listed, tuple(texts))

    def differences(
        self, connection: HiveConnection, asked: SizeQuery, answers: Sequence[Sequence[Row]]
    ) -> list[RowCountDifference] | None:
        """Segments whose rows are not those listed; None if the server does not tell sizes."""
        sizes = read_sizes(answers[0], asked.groups)
        counts = dict(zip(asked.counted, answers[1:], strict=True))
        found: list[RowCountDifference] = []
        for group in asked.groups:
            size = sizes.get(group)
            rows = counts.get(group)
            if rows is None and not self._is_known(group, size):
                if self._can_wait(group, size):
                    found += self._request(group, asked.listed)
                    continue
                rows = connection.short_query(self._counting(connection, group))
            if rows is not None:
                found += self._differences(group, size, rows, asked.listed)
        return found if sizes else found or None

    def _is_known(self, group: Group, size: Size | None) -> bool:
        with self._lock:
            return group in self._known and (size is None or self._known[group] == size)

    def _can_wait(self, group: Group, size: Size | None) -> bool:
        """True for many rows of which nothing is known, neither good nor bad."""
        with self._lock:
            is_new = group not in self._known
        is_there = size is None or size.folders >= len(group.segments)
        return is_new and is_there and group.rows > COUNTED_AT_ONCE

    def _differences(
        self, group: Group, size: Size | None, rows: Iterable[Row], listed: Mapping[str, int]
    ) -> list[RowCountDifference]:
        there = {f"{group.table}/{segment}": int(many) for segment, many in rows}
        found: list[RowCountDifference] = []
        for path in group.paths:
            counted, wanted = there.get(path, 0), listed.get(path, 0)
            if counted != wanted and (wanted or not counted):
                found.append(RowCountDifference(path, counted, wanted))
        if not found:
            self._remember(group, size or Size(0, ""))
        return found

    def _remember(self, group: Group, size: Size) -> None:
        with self._lock:
            if group not in self._known:
                self._count_known += len(group.segments)
            self._known[group] = size
            while self._count_known > _KNOWN_MAX and len(self._known) > 1:
                gone, _ = self._known.popitem(last=False)
                self._count_known -= len(gone.segments)

    def _request(self, group: Group, listed: Mapping[str, int]) -> list[RowCountDifference]:
        """Have a group counted soon; what was found the last time."""
        with self._lock:
            self._waiting[group] = {path: listed[path] for path in group.paths if path in listed}
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            return self._differing.get(group, [])

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                group, listed = self._waiting.popitem()
            try:
                with failures(), self._journal.store.connection() as connection:
                    found = self._counted_anew(connection, group, listed)
            except PalimpsestError:
                # The next look asks again.
                continue
            with self._lock:
                self._differing.pop(group, None)
                if found:
                    self._differing[group] = found

    def _counted_anew(
        self, connection: HiveConnection, group: Group, listed: Mapping[str, int]
    ) -> list[RowCountDifference]:
        connection.refresh(self._journal.names.journal_database, group.table)
        size = read_sizes(connection.run(self._question(connection, [group])), [group]).get(group)
        rows = connection.run(self._counting(connection, group))
        return self._differences(group, size, rows, listed)

    def _question(self, connection: HiveConnection, groups: Sequence[Group]) -> str:
        return f"EXPLAIN COST {connection.text(question(self._journal.names, groups))}"

    def _counting(self, connection: HiveConnection, group: Group) -> str:
        return connection.text(count(self._journal.names, group))

    def finish(self) -> None:
        """Begin to count nothing more."""
        with self._lock:
            self._waiting.clear()
