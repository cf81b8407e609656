"""Generated numbers: identity values and hidden row ids, handed out in memory, recorded at commit.

Numbers are never handed out twice; those of a transaction that rolls back are lost, as with the
sequences of any database. Row ids are recorded in blocks, so that most commits record none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from journal.model.number_source import CounterKey, NumberSource
from journal.model.schema import ROW_ID, Table

_ROW_ID_BLOCK = 1 << 16
_AHEAD = 32
"""So many numbers of a sequence are recorded as taken before they are: lost by a crash only."""


class Numbers(Protocol):
    """Generated numbers, never handed out twice."""

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""

    def change(self, source: NumberSource, change: Callable[[int], int]) -> None:
        """Have a source go on with what ``change`` makes of the number it would go on with."""

    def new_table_id(self) -> int:
        """An id that no table and no layout of a table has had."""


def counter_ids(recorded: Iterable[CounterKey], tables: Iterable[Table]) -> Iterator[int]:
    """The numbers of counters that RESTART has made, in a catalog or by what they have counted."""
    for table in tables:
        yield from (c.identity.counter for c in table.columns if c.identity is not None)
    for _, name in recorded:
        last = name.rpartition(" ")[2]
        if last.isdigit():
            yield int(last)


class Counters:
    """Next values by table id and physical column.

    ``record`` makes one durable at once; without it nothing needs to be. ``last_table_id`` is the
    highest id in use.
    """

    def __init__(
        self,
        recorded: dict[CounterKey, int],
        record: Callable[[CounterKey, int], None] | None = None,
        last_table_id: int = 0,
    ) -> None:
        self._last_table_id = last_table_id
        self._next = dict(recorded)
        self._recorded = dict(recorded)
        self._record = record
        self._covered: dict[CounterKey, range] = {}
        self._lock = threading.Lock()

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""
        with self._lock:
            first = self._next.get(key, start)
            self._next[key] = first + count * increment
            return first

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""
        with self._lock:
            if (value - self._next.get(key, start)) * increment >= 0:
                self._next[key] = value + increment

    def following(self, table_id: int) -> dict[str, int]:
        """By column the number that a table goes on with."""
        with self._lock:
            return {name: value for (of, name), value in self._next.items() if of == table_id}

    def take(self, table_id: int, following: Mapping[str, int]) -> None:
        """Go on with numbers that are on record already."""
        with self._lock:
            for name, value in following.items():
                self._next[table_id, name] = self._recorded[table_id, name] = value

    def pass_table_id(self, known: int) -> None:
        """Give no id up to one that somebody else has given."""
        with self._lock:
            self._last_table_id = max(self._last_table_id, known)

    def new_table_id(self) -> int:
        """An id that no table and no layout of a table has had."""
        with self._lock:
            self._last_table_id += 1
            return self._last_table_id

    def change(self, source: NumberSource, change: Callable[[int], int]) -> None:
        """Have a source go on with what ``change`` makes of the number it would go on with.

        What it goes on with is durable when this returns, as far as a crash may skip a few.
        """
        with self._lock:
            following = change(self._next.get(source.key, source.start))
            self._next[source.key] = following
            covered = self._covered.get(source.key)
            if self._record is None or (covered is not None and following in covered):
                return
            ahead = source.block(following, _AHEAD).following
            self._record(source.key, ahead)
            step = 1 if source.increment > 0 else -1
            self._covered[source.key] = range(following, ahead + step, step)

    def settle(self) -> None:
        """Record of sequences what they go on with exactly, so that none skips a number."""
        with self._lock:
            for key in self._covered:
                if self._record is not None:
                    self._record(key, self._next[key])
            self._covered.clear()

    def unrecorded(self, table_ids: Iterable[int]) -> list[tuple[CounterKey, int]]:
        """What a commit on these tables must record."""
        wanted = set(table_ids)
        with self._lock:
            found = []
            for key, value in self._next.items():
                if key[0] in wanted and self._recorded.get(key) != value:
                    if key[1] != ROW_ID:
                        found.append((key, value))
                    elif value > self._recorded.get(key, 0):
                        found.append((key, value + _ROW_ID_BLOCK))
            return found

    def recorded(self, entries: Iterable[tuple[CounterKey, int]]) -> None:
        """Those entries are durable now."""
        with self._lock:
            self._recorded.update(entries)
