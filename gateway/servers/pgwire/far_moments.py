"""Dates and timestamps beyond the years that Python has, as PostgreSQL writes them. Pure."""

from __future__ import annotations

import re

import numpy as np

BEFORE_OURS = r"^(-|0000-)"
"""What the text of a day begins with that lies before our era."""
_DAY_BYTES = 4


def far_moment(number: int, size: int, zone: str = "") -> str:
    """A date of four bytes, or a timestamp of eight, that count days or microseconds from 2000.

    >>> far_moment(2**31 - 1, 4), far_moment(8_388_607, 4), far_moment(-983_041, 4)
    ('infinity', '24967-03-24', '0693-07-11 BC')
    """
    most = (1 << (8 * size - 1)) - 1
    if number in (most, -most - 1):
        return "infinity" if number > 0 else "-infinity"
    if size == _DAY_BYTES:
        found = np.datetime64("2000-01-01", "D") + np.timedelta64(number, "D")
    else:
        found = np.datetime64("2000-01-01", "us") + np.timedelta64(number, "us")
    return in_its_era(str(found).replace("T", " ") + zone)


def in_its_era(moment: str) -> str:
    """The text of a day with a year before ours as PostgreSQL counts it: there is no year 0."""
    if re.match(BEFORE_OURS, moment) is None:
        return moment
    year, rest = moment.lstrip("-").split("-", 1)
    return f"{int(year) + 1:04}-{rest} BC"
