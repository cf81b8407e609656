"""Which running statements and jobs may still read which segment files.

The journal enters statements under its publish lock and asks for the paths under it too, so that no
statement that sees an old manifest is overlooked.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from journal.transactions.state import JournalState


class _Reading(Protocol):
    committed: JournalState

    @property
    def is_open(self) -> bool: ...


class Pins:
    """Counts who reads what."""

    def __init__(self) -> None:
        self._statements: weakref.WeakSet[_Reading] = weakref.WeakSet()
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def enter(self, statement: _Reading) -> None:
        """Note a statement that has just begun."""
        self._statements.add(statement)

    @contextmanager
    def hold(self, paths: Iterable[str]) -> Iterator[None]:
        """Keep files from being removed meanwhile."""
        held = list(paths)
        with self._lock:
            self._held.update(held)
        try:
            yield
        finally:
            with self._lock:
                self._held.subtract(held)

    def paths(self) -> set[str]:
        """Every file that may be read now."""
        with self._lock:
            found = {path for path, count in self._held.items() if count > 0}
        states = {id(s.committed): s.committed for s in self._statements if s.is_open}
        for state in states.values():
            for table in state.tables.values():
                found |= {f.path for s in table.manifest.segments for f in s.files}
        return found
