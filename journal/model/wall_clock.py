"""The wall clock: the only module that reads the time of day. It makes no versions."""

from __future__ import annotations

import time


def wall_clock_us() -> int:
    """Wall time in microseconds since the epoch."""
    return time.time_ns() // 1000
