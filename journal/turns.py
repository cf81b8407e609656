"""Waiting for the commit section, so that whoever waits can be cancelled. Decides nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from journal.stores.base import StoreSession

_WAIT_S = 0.05
"""How long a cancelled commit goes on waiting for its turn."""


class Watcher(Protocol):
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


@contextmanager
def taken(lock: threading.RLock, watcher: Watcher) -> Iterator[None]:
    """The lock, once it is free."""
    while not lock.acquire(timeout=_WAIT_S):
        watcher.check()
    try:
        yield
    finally:
        lock.release()
