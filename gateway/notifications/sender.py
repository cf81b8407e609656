"""Sends notifications in the background: looks for events, sends them, and tries again.

A channel that does not take a message is asked again after a while, each time later, up to ten
minutes; it keeps its place in the events, and holds no other channel up for longer than it takes to
fail. Of several senders on one store one at a time serves a channel.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

from gateway.notifications.channels import NotificationChannel
from gateway.notifications.event_patterns import EventPatterns
from gateway.notifications.messages import message_of
from gateway.notifications.outbox import EventBatch, finish_batch, take_batch
from gateway.session.client_session import ClientSession
from journal.model.errors import PalimpsestError
from journal.model.failures import failures

_LOG = logging.getLogger("palimpsest.notifications")
OpenOwnSession = Callable[[], AbstractContextManager[ClientSession]]
"""Opens a session that nobody else uses, for a block."""
POLL_S = 2.0
_LONGEST_WAIT_S = 600.0
_TITLES = 64
_AT_ONCE = 20
"""How many messages a channel gets before others are looked at."""


class NotificationSender:
    """Sends events to channels until ``close``; ``open_session`` gives a session of its own."""

    def __init__(
        self,
        open_session: OpenOwnSession,
        channels: Sequence[NotificationChannel],
        patterns: EventPatterns,
        wait: timedelta,
        *,
        poll_s: float = POLL_S,
        first_wait_s: float = 5.0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_session = open_session
        self._channels, self._patterns, self._wait = channels, patterns, wait
        self._poll_s, self._first_wait_s, self._now_s = poll_s, first_wait_s, now_s
        self._owner = uuid.uuid4().hex
        self._failed: dict[str, tuple[int, float]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="palimpsest-notifications", daemon=True
        )

    def start(self) -> None:
        """Begin; what happens from now on is sent to channels that are new."""
        self._thread.start()

    def close(self) -> None:
        """End, after a last look; what could not be sent waits for the next sender."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with self._open_session() as session:
            while True:
                is_last = self._over.is_set()
                for channel in self._channels:
                    self._serve(session, channel, timedelta() if is_last else self._wait)
                if is_last:
                    return
                self._over.wait(self._poll_s)

    def _serve(self, session: ClientSession, channel: NotificationChannel, wait: timedelta) -> None:
        """Send a channel what waits for it, unless it failed just now."""
        _, again_s = self._failed.get(channel.name, (0, 0.0))
        if self._now_s() < again_s:
            return
        try:
            with failures():
                for _ in range(_AT_ONCE):
                    batch = session.perform(
                        take_batch, channel.name, self._owner, self._patterns, wait
                    )
                    if batch is None or not self._send(session, channel, batch):
                        return
        except PalimpsestError as error:
            _LOG.warning("events cannot be read for notifications now: %s", error.message)

    def _send(
        self, session: ClientSession, channel: NotificationChannel, batch: EventBatch
    ) -> bool:
        message = message_of(batch, session.place.rpartition("/")[2][:_TITLES])
        if channel.send(message):
            self._failed.pop(channel.name, None)
            session.perform(finish_batch, channel.name, self._owner, batch.up_to)
            return True
        count = self._failed.get(channel.name, (0, 0.0))[0] + 1
        wait_s = min(_LONGEST_WAIT_S, self._first_wait_s * 2 ** min(count - 1, 10))
        self._failed[channel.name] = (count, self._now_s() + wait_s)
        _LOG.warning(
            "notification channel %s (%s) took no message, %d times now; again in %.0f s",
            *(channel.name, channel.service, count, wait_s),
        )
        return False
