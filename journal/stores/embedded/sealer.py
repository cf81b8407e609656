"""Seals heads in the background when commits ask for it.

One thread for a warehouse takes tables one after another. When writers fill a head faster than the
thread can seal it, they wait, so that heads do not grow without bound. A failure is logged and
leaves the heads as they were; the next commit asks again.

Sealing takes the table's sealing lock, then the commit lock. A writer that has the commit lock, as
one that lost to others and takes its turn, must not wait for the other: it asks and goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection

from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.segment import Segment
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.sealing import is_full, seal
from journal.stores.embedded.verification import verify

_LOG = logging.getLogger("palimpsest.sealer")
_BEHIND = 4
"""A head this many times over its limit makes its writer wait."""


class Sealer:
    """Seals the tables it is asked for; ``close`` before the journal is closed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._wanted: dict[int, None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False
        self._closed = False

    def request(self, table_id: int, rows_max: int) -> None:
        """Have a table sealed if its heads hold more than ``rows_max`` rows; 0 means never."""
        if not is_full(self._journal, table_id, rows_max):
            return
        held = self._journal.state.tables[table_id].head_counts.total
        if held > rows_max * _BEHIND and not self._journal.has_turn:
            self._seal(table_id)
            return
        with self._changed:
            if self._closed:
                return
            self._wanted[table_id] = None
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="palimpsest-sealer", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Seal a table's heads now; the new segments, none when the heads are empty."""
        return seal(self._journal, table_id)

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check files, manifests and rows; nothing is repaired."""
        return verify(self._journal, progress, only)

    def wait(self, timeout_s: float) -> bool:
        """Wait until nothing is left to seal; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._wanted and not self._busy, timeout=timeout_s
            )

    def close(self) -> None:
        """Finish the table at hand and stop."""
        with self._changed:
            self._closed = True
            self._wanted.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._closed)
                if self._closed:
                    return
                table_id = next(iter(self._wanted))
                del self._wanted[table_id]
                self._busy = True
            self._seal(table_id)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _seal(self, table_id: int) -> None:
        try:
            with failures():
                seal(self._journal, table_id)
        except PalimpsestError as error:
            _LOG.warning("table %s was not sealed: %s", table_id, error)
