"""Names that one gateway holds among those on a database: advisory locks of one connection.

The connection is lent for as long as any name is held, and its end frees all of them. Two names
whose hashes are equal keep each other out, which is more than is asked, and never less.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from journal.model.errors import PalimpsestError
from journal.stores.postgres.pool import PostgresStore
from journal.stores.postgres.store import PostgresSession

_ROWS = 1905_5284
"""The first number of the locks, beside that of other names."""
_TAKE = (
    "SELECT pg_try_advisory_lock(?, hashtext(n.name))"
    " FROM unnest(?::text[]) WITH ORDINALITY AS n (name, place) ORDER BY n.place"
)
_GIVE_BACK = (
    "SELECT count(pg_advisory_unlock(?, hashtext(n.name))) FROM unnest(?::text[]) AS n (name)"
)


class HeldRowNames:
    """The names that this process holds on one store; used by all its threads."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._lent = ExitStack()
        self._session: PostgresSession | None = None
        self._held: set[str] = set()

    def take(self, names: Sequence[str]) -> list[bool]:
        """For each name whether it was free, and is held from now on.

        Raises the error of a connection that is lost, with which what was held before is lost.
        """
        with self._lock:
            if self._session is None:
                self._session = self._lent.enter_context(self._store.lent())
            try:
                rows = self._session.text(_TAKE, [_ROWS, list(names)])
            except PalimpsestError:
                self._leave()
                raise
            taken = [bool(row[0]) for row in rows]
            self._held.update(n for n, is_mine in zip(names, taken, strict=True) if is_mine)
            self._leave_if_unused()
            return taken

    def give_back(self, names: Iterable[str]) -> None:
        """Let others take names that are held; those of a lost connection are free already."""
        with self._lock:
            given = sorted(self._held.intersection(names))
            if not given or self._session is None:
                return
            self._held.difference_update(given)
            try:
                self._session.text(_GIVE_BACK, [_ROWS, given])
            except PalimpsestError:
                self._leave()
                return
            self._leave_if_unused()

    def _leave_if_unused(self) -> None:
        if not self._held:
            self._leave()

    def _leave(self) -> None:
        self._session = None
        self._held.clear()
        self._lent.pop_all().close()
