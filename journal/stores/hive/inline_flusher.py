"""The background flush of inlined rows, some time after the first of a table.

A thread that lives while there is something to flush. Every gateway that knows of the rows flushes
them when they are due, so those of a gateway that was killed are flushed as well; who comes second
finds nothing. What fails is tried again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.version import Version
from journal.transactions.state import JournalState

_RETRY_S = 1.0
_MICROS = 1_000_000


class Flusher:
    """See the module's head. ``flush`` makes a segment of a table's rows, unless another gateway
    is at it; ``wall_us`` tells the time. Rows are flushed ``age_s`` seconds after the first commit.
    """

    def __init__(
        self, flush: Callable[[int], bool], age_s: float, wall_us: Callable[[], int]
    ) -> None:
        self._flush = flush
        self._age_us = int(age_s * _MICROS)
        self._wall_us = wall_us
        self._due: dict[int, Version] = {}
        self._own: set[int] = set()
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._changed = threading.Condition()

    def note(self, state: JournalState) -> None:
        """Flush what a state has inlined when it is due."""
        found = {i: s.inlined.oldest for i, s in state.tables.items() if s.inlined}
        with self._changed:
            if not found and not self._due:
                return
            self._due = {i: oldest + self._age_us for i, oldest in found.items()}
            if self._thread is None and self._due and not self._is_closing:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def note_own(self, table_ids: Iterable[int]) -> None:
        """Flush the rows of tables when this process ends, as it has written some."""
        with self._changed:
            self._own.update(table_ids)

    def _run(self) -> None:
        retry_s = 0.0
        while True:
            with self._changed:
                if self._is_closing or not self._due:
                    self._thread = None
                    return
                first, due = min(self._due.items(), key=lambda item: item[1])
                wait_s = max((due - self._wall_us()) / _MICROS, retry_s)
                if wait_s > 0:
                    self._changed.wait(wait_s)
                    retry_s = 0.0
                    continue
            retry_s = 0.0 if self._flushed(first) else _RETRY_S

    def _flushed(self, table_id: int) -> bool:
        try:
            with failures():
                is_done = self._flush(table_id)
        except PalimpsestError:
            # It is due still.
            return False
        if not is_done:
            return False
        with self._changed:
            if self._due.get(table_id, 0) <= self._wall_us():
                self._due.pop(table_id, None)
        return True

    def finish(self) -> None:
        """Flush what this process has inlined, and stop; rows that cannot be flushed now stay."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
            thread, own = self._thread, sorted(self._own & self._due.keys())
        if thread is not None:
            thread.join()
        for table_id in own:
            self._flushed(table_id)
