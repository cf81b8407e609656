"""The queue before the commit section: one by one, or in groups.

Whoever waits can be cancelled. The first of a line waits for the lock, and serves all who stand in
line by then; meanwhile the next group gathers. Decides nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import StoreSession

Wanted = TypeVar("Wanted")

_WAIT_S = 0.05
"""How long a cancelled commit goes on waiting for its turn."""
_GROUP_MAX = 32


class CancelToken(Protocol):
    """Whoever may cancel what is under way."""

    def check(self) -> None:
        """Raise CANCELLED if that was asked for."""

    def watching(self, store: StoreSession) -> AbstractContextManager[None]:
        """What happens in a session may be interrupted meanwhile."""


class Unwatched:
    """Nobody cancels."""

    def check(self) -> None:
        """Nothing was asked for."""

    def watching(self, store: StoreSession) -> AbstractContextManager[None]:
        """Nothing interrupts."""
        return nullcontext()


UNWATCHED = Unwatched()


def no_turn(_watcher: CancelToken) -> AbstractContextManager[None]:
    """The commit turn of a store that keeps nobody else from committing."""
    return nullcontext()


def take(lock: threading.RLock, watcher: CancelToken) -> None:
    """Take a lock, once it is free."""
    while not lock.acquire(timeout=_WAIT_S):
        watcher.check()


@contextmanager
def acquired(lock: threading.RLock, watcher: CancelToken) -> Iterator[None]:
    """The lock, once it is free."""
    take(lock, watcher)
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True, eq=False)
class _Place(Generic[Wanted]):
    """A place in a line: called when its holder was served, or is to serve."""

    wanted: Wanted
    called: threading.Event = field(default_factory=threading.Event)
    serves: bool = False


class CommitQueue(Generic[Wanted]):
    """Who waits to be served; see the module's head."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: list[_Place[Wanted]] = []
        self._is_served = False

    def run(
        self,
        wanted: Wanted,
        watcher: CancelToken,
        lock: threading.RLock,
        serve: Callable[[Sequence[Wanted], CancelToken], None],
    ) -> None:
        """Return when ``wanted`` was served, by this thread or another one, holding ``lock``.

        ``serve`` is given a group, and who may cancel it while that is one alone.
        """
        place = _Place(wanted)
        with self._mutex:
            self._waiting.append(place)
            place.serves = not self._is_served
            self._is_served = True
        if not place.serves:
            self._await(place, watcher)
        if place.serves:
            self._serve(place, watcher, lock, serve)

    def _await(self, place: _Place[Wanted], watcher: CancelToken) -> None:
        try:
            while not place.called.wait(_WAIT_S):
                watcher.check()
        except PalimpsestError:
            if self._withdraw(place):
                raise
            # Too late: it is being served.
            place.called.wait()
        except BaseException:
            if not self._withdraw(place):
                place.called.wait()
            raise

    def _withdraw(self, place: _Place[Wanted]) -> bool:
        """Give a place up; False if it is being served, or was."""
        with self._mutex:
            if place not in self._waiting:
                return False
            self._waiting.remove(place)
            if place.serves:
                self._call_next()
            return True

    def _serve(
        self,
        place: _Place[Wanted],
        watcher: CancelToken,
        lock: threading.RLock,
        serve: Callable[[Sequence[Wanted], CancelToken], None],
    ) -> None:
        group: list[_Place[Wanted]] = []
        try:
            with acquired(lock, watcher):
                with self._mutex:
                    group = self._waiting[:_GROUP_MAX]
                    del self._waiting[: len(group)]
                serve([p.wanted for p in group], watcher)
        finally:
            with self._mutex:
                if place in self._waiting:
                    self._waiting.remove(place)
                self._call_next()
            for served in group:
                served.called.set()

    def _call_next(self) -> None:
        self._is_served = bool(self._waiting)
        if self._waiting:
            self._waiting[0].serves = True
            self._waiting[0].called.set()
