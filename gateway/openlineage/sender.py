"""Sends events of OpenLineage from a thread of its own, so that no statement waits for it.

statement ends -> queue of bounded length -> thread: events -> transport of the client
                  full: dropped, counted     fails: tried again, then dropped, counted
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import Protocol

from openlineage.client import event_v2 as openlineage

from gateway.lineage.statement_end import StatementEnd
from gateway.openlineage.executed import events_of
from journal.model.lazy_dataclass import dataclass

_LOG = logging.getLogger("palimpsest.openlineage")
_QUEUE_MAX = 10_000
_BATCH_MAX = 100
_PAUSES_S = (0.5, 2.0, 8.0)
"""So long it waits before it tries a batch again."""


class EventTransport(Protocol):
    """A transport of the client of OpenLineage."""

    def emit(self, event: openlineage.RunEvent) -> object:
        """Send one event; raises where it cannot."""

    def close(self, timeout: float = -1) -> bool:
        """Send what is held back, within so many seconds."""


@dataclass(slots=True)
class EventSender:
    """Thread-safe; ``offer`` never waits and never raises.

    ``pause`` waits for seconds, and says whether the sender is closed meanwhile.
    """

    transport: EventTransport
    namespace: str
    queue_max: int = _QUEUE_MAX
    pause: Callable[[float], bool] | None = None
    sent: int = 0
    dropped: int = 0
    """Statements whose events were not sent."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _waiting: queue.Queue[StatementEnd | None] = field(init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._waiting = queue.Queue(self.queue_max)
        self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
        self._thread.start()

    def offer(self, end: StatementEnd) -> None:
        """Send the events of a statement when there is time; drop them if too many wait."""
        try:
            self._waiting.put_nowait(end)
        except queue.Full:
            self._drop(1, "too many statements wait for it")

    def close(self, timeout_s: float = 10.0) -> None:
        """Send what waits, for so long; what is left is dropped."""
        self._ended.set()
        with suppress(queue.Full):
            self._waiting.put(None, timeout=timeout_s)
        self._thread.join(timeout_s)
        left = self._waiting.qsize()
        if left > 1 or (left and self._thread.is_alive()):
            self._drop(left, "the server ends")

    def _run(self) -> None:
        is_over = False
        while not is_over:
            batch = [self._waiting.get()]
            while len(batch) < _BATCH_MAX and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            is_over = None in batch
            self._send([end for end in batch if end is not None])
        self.transport.close(timeout=5.0)

    def _send(self, batch: list[StatementEnd]) -> None:
        """Send a batch; what was sent of it is not sent again."""
        events = [list(events_of(end, self.namespace)) for end in batch]
        waits = iter(_PAUSES_S)
        while events:
            try:
                for event in list(events[0]):
                    self.transport.emit(event)
                    events[0].remove(event)
            except Exception as error:  # noqa: BLE001 - each transport raises errors of its own
                seconds = next(waits, None)
                if seconds is None or self._pauses(seconds):
                    self._drop(len(events), type(error).__name__)
                    return
                continue
            events.pop(0)
            self.sent += 1

    def _pauses(self, seconds: float) -> bool:
        """Wait, and say whether it is not worth to try again."""
        return (self.pause or self._ended.wait)(seconds)

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        _LOG.warning("events of %d statements were not sent: %s", count, why)
