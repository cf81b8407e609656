"""Versions and the hybrid logical clock that makes them.

A version is a number of microseconds since 1970-01-01 UTC that never repeats and never goes back:
wall time while the wall clock runs ahead, else the last version plus one (hybrid logical clock,
Kulkarni et al. 2014, with the logical part folded into the microseconds). The clock knows no I/O:
wall time comes in as a callable, the highest version ever used is given when a store is opened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

Version = int
"""Microseconds since the epoch; also the number shown in ``system.transactions``."""

SKEW_MAX_US = 10_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class VersionType(StrEnum):
    """How a table stores versions; the numbers are the same, only the column type differs."""

    TIMESTAMP = "TIMESTAMP"
    BIGINT = "BIGINT"


def to_datetime(version: Version) -> datetime:
    """The instant a version stands for, in UTC."""
    return _EPOCH + version * _MICROSECOND


def from_datetime(moment: datetime) -> Version:
    """The version of an instant; a naive datetime is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


class HybridClock:
    """Hands out versions: strictly increasing, unique, close to wall time.

    ``floor`` is the highest version that was committed or that a time-travel read was answered
    for; whatever commits later must lie above it, so that no answered question changes.
    ``skew_max_us`` is how far ahead of the wall clock versions of others may carry it.
    """

    def __init__(
        self, wall_us: Callable[[], int], highest: Version, skew_max_us: int = SKEW_MAX_US
    ) -> None:
        self._wall_us = wall_us
        self.skew_max_us = skew_max_us
        self._last = highest
        self._floor = highest
        self._lock = threading.Lock()

    @property
    def floor(self) -> Version:
        """Versions at or below this are settled."""
        return self._floor

    def now(self) -> Version:
        """The present as a version, without using one up."""
        with self._lock:
            return max(self._wall_us(), self._last)

    def time_of_day(self) -> Version:
        """What the wall clock says, by which the age of data is told.

        It may lie before ``now``, which stands still after the clock ran ahead, until that moment.
        """
        return self._wall_us()

    def next(self) -> Version:
        """A version above every version handed out or observed before."""
        with self._lock:
            self._last = max(self._wall_us(), self._last + 1)
            return self._last

    @property
    def latest_passed(self) -> Version:
        """The latest version of somebody else's that ``pass_by`` takes now."""
        return self._wall_us() + self.skew_max_us

    def pass_by(self, version: Version) -> bool:
        """Hand out versions above one that somebody else has made from now on.

        False, and nothing changes, if it lies too far ahead of the wall clock: one wrong clock
        would carry every later version away with it.
        """
        with self._lock:
            if version > self.latest_passed:
                return False
            self._last = max(self._last, version)
            return True

    def settle(self, version: Version) -> None:
        """Record that everything up to ``version`` is committed or has been read as the past."""
        with self._lock:
            self._floor = max(self._floor, version)
            self._last = max(self._last, version)
