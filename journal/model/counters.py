"""Generated numbers: identity values and hidden row ids, handed out in memory, recorded at commit.

Numbers are never handed out twice; those of a transaction that rolls back are lost, as with the
sequences of any database. Row ids are recorded in blocks, so that most commits record none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from journal.model.schema import ROW_ID

CounterKey = tuple[int, str]
_ROW_ID_BLOCK = 1 << 16


class Numbers(Protocol):
    """Generated numbers, never handed out twice."""

    def reserve(self, key: CounterKey, count: int, start: int, increment: int) -> int:
        """The first of ``count`` numbers that are now taken."""

    def skip_past(self, key: CounterKey, value: int, start: int, increment: int) -> None:
        """Make sure a value given explicitly is not generated later."""


class Counters:
    """Next values by table id and physical column."""

    def __init__(self, recorded: dict[CounterKey, int]) -> None:
        self._next = dict(recorded)
        self._recorded = dict(recorded)
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
