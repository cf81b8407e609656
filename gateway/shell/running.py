"""Runs a statement so that Ctrl-C stops it, and only it: works in a thread, waits here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from gateway.dbapi.connection import Connection

T = TypeVar("T")
_CANCELS_MAX = 3


class _Work(threading.Thread, Generic[T]):
    """One call, its value or its error kept."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(daemon=True, name="statement")
        self._call = call
        self.value: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        """Make the call."""
        try:
            self.value.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed on to the thread that waits
            self.error = error


def cancellable(connection: Connection, call: Callable[[], T]) -> T:
    """What ``call`` returns; Ctrl-C cancels the connection's statement, whose error is raised."""
    work = _Work(call)
    work.start()
    cancels = 0
    while work.is_alive():
        try:
            work.join()
        except KeyboardInterrupt:
            cancels += 1
            if cancels > _CANCELS_MAX:
                raise
            connection.cancel()
    if work.error is not None:
        raise work.error
    return work.value[0]
