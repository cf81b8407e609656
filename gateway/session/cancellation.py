"""The statement that a session runs now, so that another thread can stop or watch it.

    quiet --running--> running --watching--> in the store --> running --> quiet

A call that takes longer than ``statement_timeout`` says is stopped as by another thread.

An interrupt reaches the store's session only while this session's statement holds it: afterwards
the same store session may serve somebody else. It decides nothing about transactions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

from gateway.session.deadlines import DEADLINES
from gateway.session.durations import duration_text
from gateway.session.signals import begin_watch, end_watch
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import StoreSession

_REPEAT_S = 0.01
_PATIENCE_S = 2.0


class Cancellation:
    """See the module's head; one per session."""

    def __init__(self, timeout_ms: Callable[[], int] = lambda: 0) -> None:
        """``timeout_ms``: how long the call that begins may take; 0: any time."""
        self._timeout_ms = timeout_ms
        self._number = 0
        self._lock = threading.Lock()
        self._quiet: threading.Event | None = None
        """Set when the call has ended, for whoever waits for that."""
        self._depth = 0
        self._asked = False
        self._why: PalimpsestError | None = None
        self._store: StoreSession | None = None
        self.tracks_progress = False

    @property
    def is_running(self) -> bool:
        """True while a call of the client is under way."""
        return self._depth > 0

    def running(self) -> AbstractContextManager[None]:
        """Marks a call of the client as running for the block; calls may nest."""
        return _Running(self)

    def begin(self) -> tuple[bool, int | None]:
        """A call begins; what ``end`` is given: whether signals are watched, and the deadline."""
        if self._depth:
            # Calls of one session are of one thread: nobody else counts them.
            self._depth += 1
            return False, None
        with self._lock:
            self._depth = 1
            self._asked, self._why = False, None
            self._number += 1
        deadline = self._set_deadline(self._number)
        return begin_watch(self.cancel), deadline

    def end(self, watches: bool, deadline: int | None) -> None:
        """The call is over."""
        if watches:
            end_watch()
        if deadline is not None:
            DEADLINES.forget(deadline)
        if self._depth > 1:
            self._depth -= 1
            return
        with self._lock:
            self._depth = 0
            self._asked = False
            quiet, self._quiet = self._quiet, None
        if quiet is not None:
            quiet.set()

    @property
    def why(self) -> PalimpsestError | None:
        """What a cancelled call raises, if that is not CANCELLED."""
        return self._why

    def _set_deadline(self, number: int) -> int | None:
        """Have the call of this number stopped when its time is over."""
        allowed_ms = self._timeout_ms()
        if not allowed_ms:
            return None

        def stop() -> None:
            self.cancel(_took_too_long(allowed_ms), number)

        return DEADLINES.call_at(time.monotonic() + allowed_ms / 1000, stop)

    def watching(self, store: StoreSession) -> AbstractContextManager[None]:
        """The call works in a session of the store; leave before that session is given back."""
        return _Watching(self, store)

    def exchange_store(self, store: StoreSession | None) -> StoreSession | None:
        """Have ``cancel`` find this session of the store; which one it would have found before."""
        with self._lock:
            before, self._store = self._store, store
        return before

    def progress(self) -> float | None:
        """How much of the query at hand is done, from 0 to 1; None where that is not known."""
        with self._lock:
            return None if self._store is None else self._store.progress()

    def check(self) -> None:
        """Raise CANCELLED if ``cancel`` was called since the call began."""
        if self._asked:
            if self._why is not None:
                raise self._why
            raise PalimpsestError(
                Code.CANCELLED,
                "the statement was cancelled",
                advice="none of its changes were kept; run it again if you still want it",
            )

    def cancel(self, why: PalimpsestError | None = None, number: int | None = None) -> None:
        """Stop the call that is under way, if there is one; returns when it has stopped.

        The call raises ``why``, or else CANCELLED. ``number``: only if it is the call of that
        number.

        The store forgets an interrupt that arrives between two queries, so it is repeated until
        the call has ended, within a limit.
        """
        with self._lock:
            if self._depth == 0 or number not in (None, self._number):
                return
            number = self._number
            self._asked, self._why = True, why
            quiet = self._quiet = self._quiet or threading.Event()
        for _ in range(int(_PATIENCE_S / _REPEAT_S)):
            with self._lock:
                if self._number != number:
                    return
                if self._store is not None and self._asked:
                    self._store.interrupt()
            if quiet.wait(_REPEAT_S):
                return


class _Running:
    """See ``Cancellation.running``; as a generator, each call would take longer."""

    __slots__ = ("_begun", "_calls")

    def __init__(self, calls: Cancellation) -> None:
        self._calls = calls

    def __enter__(self) -> None:
        self._begun = self._calls.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        why = self._calls.why
        self._calls.end(*self._begun)
        is_cancelled = isinstance(error, PalimpsestError) and error.code is Code.CANCELLED
        if is_cancelled and why is not None:
            raise why from error


class _Watching:
    """See ``Cancellation.watching``; as a generator, each statement would take longer."""

    __slots__ = ("_before", "_calls", "_store")

    def __init__(self, calls: Cancellation, store: StoreSession) -> None:
        self._calls, self._store = calls, store

    def __enter__(self) -> None:
        self._before = self._calls.exchange_store(self._store)
        try:
            self._calls.check()
            if self._calls.tracks_progress:
                self._store.track_progress()
        except BaseException:
            self._calls.exchange_store(self._before)
            raise

    def __exit__(self, *_: object) -> None:
        self._calls.exchange_store(self._before)


def _took_too_long(allowed_ms: int) -> PalimpsestError:
    return PalimpsestError(
        Code.STATEMENT_TIME,
        f"canceling statement due to statement timeout of {duration_text(allowed_ms)}",
        advice="read or change fewer rows at once, or SET statement_timeout to a longer time or 0",
    )
