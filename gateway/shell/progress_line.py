"""Shows the progress of a long statement on a line of the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.shell.running import Advance

_AFTER_S = 2.0
"""Whoever waits less long wants to know nothing."""
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress_line(
    *, is_shown: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Advance | None]:
    """What takes the share of the work that is done, 0 to 1, again and again; None: nobody looks.

    ``clock`` tells seconds. A share of 0 is one that nobody knows.
    """
    if not is_shown or not sys.stderr.isatty():
        yield None
        return
    began, is_written = clock(), False

    def advance(share: float) -> None:
        nonlocal is_written
        seconds = clock() - began
        if seconds < _AFTER_S:
            return
        done = f"{share:.0%} in " if share else ""
        sys.stderr.write(f"{_CLEAR_LINE}{done}{seconds:.0f} s; Ctrl-C stops it")
        sys.stderr.flush()
        is_written = True

    try:
        yield advance
    finally:
        if is_written:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
