"""Cron lines: minute, hour, day, month and weekday in UTC, and when they are due. Pure.

    *    */15    5    1-5    10-20/2    1,15    jan    mon-fri

Weekdays are 0 to 7 from Sunday to Sunday, or names. Where both day and weekday are given, either
is enough. croniter reads the lines. It reads more than cron does: seconds and years, random fields,
ranges of numbers that run backwards. Such lines are refused before it sees them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from journal.model.errors import Code, PalimpsestError

_PART = re.compile(r"(?:\*|(\d+|[a-z]{3})(?:-(\d+|[a-z]{3}))?)(?:/\d+)?", re.ASCII)
_LEAP_YEAR = datetime(2000, 1, 1, tzinfo=UTC)


def check_cron(line: str) -> None:
    """Raise POLICY for what is not a cron line, and for one that no moment can ever meet."""
    next_run(line, _LEAP_YEAR)


def next_run(line: str, after: datetime) -> datetime:
    """The first moment after another at which a line is due; raises POLICY as ``check_cron``."""
    from croniter import CroniterError, croniter

    fields = line.lower().split()
    if len(fields) != 5:
        raise _cron_error(line, "it has five fields")
    for part in ",".join(fields).split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise _cron_error(line, f'"{part}" cannot be read')
        first, last = found[1] or "", found[2] or ""
        if first.isdigit() and last.isdigit() and int(first) > int(last):
            raise _cron_error(line, f'"{part}" begins above its end')
    try:
        due: datetime = croniter(" ".join(fields), after).get_next(datetime)
    except CroniterError as error:
        raise _cron_error(line, str(error)) from error
    return due


def _cron_error(line: str, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.POLICY,
        f'"{line}" is not a cron line: {why}',
        advice="write minute, hour, day, month and weekday: '0 3 * * *'",
    )
