"""Runs a statement so that Ctrl-C stops it, and only it: works in a thread, waits here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from gateway.dbapi.connection import Connection

T = TypeVar("T")
_CANCELS_MAX = 3
_LOOK_S = 0.1
Advance = Callable[[float], None]
"""Tells how much is done, from 0 to 1."""


class _Work(threading.Thread, Generic[T]):
    """One call, its value or its error kept."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(daemon=True, name="statement")
        self._call = call
        self.value: list[T] = []
        self.error: BaseException | None = None
        # A join that Ctrl-C interrupts takes the thread for ended.
        self.ended = threading.Event()

    def run(self) -> None:
        """Make the call."""
        try:
            self.value.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed on to the thread that waits
            self.error = error
        finally:
            self.ended.set()


def run_cancellable(
    connection: Connection, call: Callable[[], T], advance: Advance | None = None
) -> T:
    """What ``call`` returns; Ctrl-C cancels the connection's statement, whose error is raised.

    ``advance`` receives the share of the statement's work that is done, 0 to 1.
    """
    work = _Work(call)
    with _progress_poller(connection, advance) as report_progress:
        work.start()
        cancels = 0
        while not work.ended.is_set():
            try:
                if cancels:
                    # Again and again: the statement may not have begun, and be deaf while it does.
                    connection.cancel()
                work.ended.wait(None if advance is None and not cancels else _LOOK_S)
                report_progress()
            except KeyboardInterrupt:
                cancels += 1
                if cancels > _CANCELS_MAX:
                    raise
    if work.error is not None:
        raise work.error
    return work.value[0]


@contextmanager
def _progress_poller(
    connection: Connection, advance: Advance | None
) -> Iterator[Callable[[], None]]:
    """A call that passes the statement's progress to ``advance``; it never falls."""
    if advance is None:
        yield lambda: None
        return
    statement = connection.client_session.cancellation
    done = 0.0

    def report_progress() -> None:
        nonlocal done
        done = max(done, statement.progress() or 0.0)
        advance(done)

    statement.tracks_progress = True
    try:
        yield report_progress
    finally:
        statement.tracks_progress = False
