"""One client's session at the owner: calls come in over its socket and are run one by one.

A thread each. It translates only: what a call does is the session's, or an operation's.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa

from gateway.session import operations
from gateway.session.outcome import Row
from gateway.session.session import Session
from gateway.sharing import wire
from gateway.sharing.arrow_batches import batch_to_bytes, send_batch
from gateway.sharing.client_engine import ClientEngine
from gateway.sharing.messages import Advanced, Failed, Moved, OwnerCall, Welcome
from gateway.sharing.session_calls import SessionCalls
from gateway.sharing.shared_memory import OutgoingPlaces
from journal.local_engine.arrow_values import python_rows
from journal.model.errors import PalimpsestError
from journal.model.result_column import ResultColumn

STREAM_S = 5.0
"""How long rows that nobody fetches keep an owner that wants to end."""


class ServedSession:
    """A session that another process uses; ``serve`` runs until that process leaves."""

    def __init__(self, peer: socket.socket, session: Session, closes: Callable[[], bool]) -> None:
        """``closes`` tells whether the owner is about to close the warehouse."""
        self.key = secrets.token_hex(16)
        self.session = session
        self._peer = peer
        self._closes = closes
        self._lock = threading.Lock()
        further: dict[str, Callable[..., Any]] = {
            "perform": self._perform,
            "set_settings": self._set_settings,
            "track": self._track,
        }
        self._places = OutgoingPlaces()
        send = partial(send_batch, peer, self._places)
        self._calls = SessionCalls(session, send, _first_rows, further)
        self._in_call = False
        self._last_s = time.monotonic()
        self._left = False

    @property
    def is_busy(self) -> bool:
        """True while the owner must not close the warehouse for this client's sake."""
        streams = self._calls.is_streaming and time.monotonic() - self._last_s < STREAM_S
        return not self._left and (self._in_call or self._calls.is_pinned or streams)

    def serve(self, pid: int) -> None:
        """Answer calls until the client leaves or the owner closes; then roll back."""
        state = self._calls.new_state()
        assert state is not None, "nothing was told before"
        try:
            wire.send(self._peer, Welcome(self.key, pid, state))
            while self._next():
                pass
        except wire.PeerGone:
            pass
        finally:
            self._left = True
            self._calls.close()
            self._places.close()
            self.session.close()

    def _next(self) -> bool:
        """Take and answer the next call; false after the last one."""
        try:
            call = wire.receive(self._peer)
        except PalimpsestError as error:
            wire.send(self._peer, Failed.of(error, self._calls.new_state()))
            return True
        return self._answer(call)

    def leave_if_idle(self) -> bool:
        """End the connection of a client that waits for nothing; from another thread."""
        with self._lock:
            if self.is_busy:
                return False
            self._left = True
        shut(self._peer)
        return True

    def stop(self) -> None:
        """End the connection whatever the client does; from another thread."""
        self.session.cancel()
        shut(self._peer)

    def _answer(self, call: OwnerCall) -> bool:
        with self._lock:
            leaves = self._left or (self._closes() and not self.is_busy)
            self._left = leaves
            self._in_call = not leaves
        if leaves:
            wire.send(self._peer, Moved())
            return False
        self._places.begin_answer()
        try:
            wire.send(self._peer, self._calls.answer(call))
        finally:
            self._last_s = time.monotonic()
            self._in_call = False
        return True

    def _set_settings(self, settings: Any) -> None:
        self.session.settings = settings

    def _track(self, wanted: bool) -> None:
        self.session.cancellation.tracks_progress = wanted

    def _perform(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        def advance(*told: Any) -> None:
            wire.send(self._peer, Advanced(told))

        with ClientEngine(self._peer).lent(self.session):
            return self.session.perform_watched(advance, operations.find(name), *arguments, **named)


def _first_rows(
    batch: pa.RecordBatch, columns: Sequence[ResultColumn], zone: str | None, is_whole: bool
) -> Sequence[Row] | bytes:
    """Values of Python for a client that needs no Arrow for so few rows, else the batch."""
    return python_rows(batch, columns, zone) if is_whole else batch_to_bytes(batch)


def shut(peer: socket.socket) -> None:
    """End a connection, so that whoever waits at it wakes up."""
    with suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)
