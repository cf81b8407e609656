"""Locks by name, for a store that one process at a time has open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class NamedLocks:
    """The names that somebody is inside a block of."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def trying(self, name: str) -> Iterator[bool]:
        """A block that is given True if nobody else is inside one of that name."""
        with self._lock:
            is_mine = name not in self._held
            self._held.add(name)
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._lock:
                    self._held.discard(name)
