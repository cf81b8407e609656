"""What is to be called at a moment is called then, unless it is forgotten before."""

from __future__ import annotations

import threading
import time

from gateway.session.deadlines import Deadlines


def test_the_earlier_is_called_first_and_the_forgotten_never() -> None:
    deadlines, called, done = Deadlines(), [], threading.Event()
    now = time.monotonic()
    forgotten = deadlines.call_at(now + 0.02, lambda: called.append("forgotten"))
    deadlines.call_at(now + 0.2, done.set)
    deadlines.call_at(now + 0.05, lambda: called.append("earlier"))
    deadlines.forget(forgotten)
    assert done.wait(10)
    assert called == ["earlier"]


def test_calls_that_end_in_time_leave_nothing_behind() -> None:
    """A server of many small statements under a long limit keeps no moment for each."""
    deadlines, rung = Deadlines(), threading.Event()
    later = time.monotonic() + 3600
    kept = [deadlines.call_at(later, rung.set) for _ in range(10)]
    for _ in range(10_000):
        deadlines.forget(deadlines.call_at(later, rung.set))
    assert len(deadlines) < 1000
    deadlines.call_at(time.monotonic(), rung.set)
    assert rung.wait(10)
    for number in kept:
        deadlines.forget(number)
