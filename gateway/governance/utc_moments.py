"""Moments that people and programs write, in UTC. Pure; nothing is asked of a clock."""

from __future__ import annotations

from datetime import UTC, datetime


def in_utc(given: datetime) -> datetime:
    """The same moment in UTC, where it is without an offset.

    Raises ValueError for one that UTC has no date for.

    >>> in_utc(datetime.fromisoformat("2024-03-01T01:00+02:00")).isoformat()
    '2024-02-29T23:00:00+00:00'
    """
    if given.tzinfo is None:
        return given.replace(tzinfo=UTC)
    try:
        return given.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("in UTC it lies outside of the years 1 to 9999") from error
