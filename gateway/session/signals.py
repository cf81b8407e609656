"""Handles Ctrl-C while a program's main thread waits inside a store's driver.

    SIGINT --> Python notes it, and writes a byte to the wake-up file --> a thread reads the byte,
    and cancels the call --> the driver returns --> Python raises KeyboardInterrupt

Python raises KeyboardInterrupt between two of its own instructions only, and DuckDB looks at
signals late or, while it writes or joins, not at all. Nothing here replaces the handler of a
signal: what a program has said of SIGINT holds, and where that does not raise, nothing is
cancelled. Programs with a wake-up file of their own, such as those of asyncio, keep it.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable

_NONE = -1


class _Watch:
    """The pipe and the thread of this process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.cancel: Callable[[], None] | None = None
        self.lock = threading.Lock()
        self._read, self.write = os.pipe()
        for end in (self._read, self.write):
            os.set_blocking(end, False)
        name = "palimpsest-signals"
        threading.Thread(target=self._wait_for_signals, name=name, daemon=True).start()

    def _wait_for_signals(self) -> None:
        while True:
            select.select([self._read], [], [])
            with self.lock:
                is_interrupted, cancel = self.drain(), self.cancel
            raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if is_interrupted and raises and cancel is not None:
                cancel()

    def drain(self) -> bool:
        """Forget the signals that were noted; whether SIGINT was among them."""
        try:
            return signal.SIGINT in os.read(self._read, 4096)
        except BlockingIOError:
            return False


class _Process:
    """What there is of it in this process; made by the first call of the main thread."""

    watch: _Watch | None = None


def begin_watch(cancel: Callable[[], None]) -> bool:
    """Have ``cancel`` called, in another thread, when Ctrl-C is pressed; whether that will be.

    ``end_watch`` must follow if so. It is only for the main thread, and for one call at a time.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    watch = _Process.watch
    if watch is None or watch.pid != os.getpid():
        watch = _Process.watch = _Watch()
    if watch.cancel is not None:
        return False
    before = signal.set_wakeup_fd(watch.write, warn_on_full_buffer=False)
    if before != _NONE:
        signal.set_wakeup_fd(before)
        return False
    watch.cancel = cancel
    return True


def end_watch() -> None:
    """Cancel nothing any more; Ctrl-C during the call has been seen, or is not for the next one."""
    watch = _Process.watch
    assert watch is not None
    signal.set_wakeup_fd(_NONE)
    with watch.lock:
        watch.cancel = None
        watch.drain()
