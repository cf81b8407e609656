"""Closes what clients forgot to close, in a thread of its own.

The garbage collector may run a finalizer anywhere, also while its thread holds a lock that closing
needs. So finalizers only put the closing into a queue, which is safe there, and never wait.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable

from gateway.errors import Error
from journal.model.errors import PalimpsestError


class Reaper:
    """A queue of closings and the thread that works it off; both made when first needed."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Have the thread ready; called where starting one is safe."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="palimpsest-reaper", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """The process ends and warehouses are closed whole: nothing is taken any more."""
        self._stopped = True
        self._queue = queue.SimpleQueue()

    def put(self, closing: Callable[[], None]) -> None:
        """Have something closed soon; safe in finalizers."""
        if not self._stopped:
            self._queue.put(closing)

    def _work(self) -> None:
        while True:
            closing = self._queue.get()
            try:
                closing()
            except (Error, PalimpsestError, OSError):
                # Nobody is left to hear of it; the store undoes what was open by itself.
                pass
            finally:
                del closing


REAPER = Reaper()


def _renew() -> None:
    """In a forked child the thread is gone and its lock may be held for ever."""
    global REAPER  # noqa: PLW0603 - a fork replaces the state of the whole process
    REAPER = Reaper()


def _stop() -> None:
    REAPER.stop()


atexit.register(_stop)
os.register_at_fork(after_in_child=_renew)
