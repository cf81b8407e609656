"""An action that is repeated while a block runs: cancels of a statement that may begin late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeatedly(action: Callable[[], object], first_s: float) -> Iterator[None]:
    """Do something ``first_s`` seconds after the block begins, and each second until it ends.

    A single cancel comes to nothing where the machine is busy and the statement has not begun.
    """
    ended = threading.Event()

    def work() -> None:
        wait_s = first_s
        while not ended.wait(wait_s):
            action()
            wait_s = 1.0

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
