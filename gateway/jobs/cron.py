"""When a cron line is due: the library's triggers, made from what ``journal.model.cron`` has read.

The library would number weekdays from Monday, and ask for day and weekday both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from typing import TYPE_CHECKING

from journal.model.cron import WEEKDAYS, parse_cron

if TYPE_CHECKING:
    from apscheduler.triggers.base import BaseTrigger


def trigger_of(line: str) -> BaseTrigger:
    """The trigger of a line, in UTC; raises POLICY for what is no cron line."""
    from apscheduler.triggers.combining import OrTrigger
    from apscheduler.triggers.cron import CronTrigger

    found = parse_cron(line)
    common = {
        "minute": _listed(found.minutes),
        "hour": _listed(found.hours),
        "month": _listed(found.months),
        "timezone": UTC,
    }
    ways: list[dict[str, str]] = []
    if found.days is not None:
        ways.append({"day": _listed(found.days)})
    if found.weekdays is not None:
        ways.append({"day_of_week": ",".join(WEEKDAYS[n] for n in sorted(found.weekdays))})
    triggers = [CronTrigger(**common, **way) for way in ways or [{}]]
    return triggers[0] if len(triggers) == 1 else OrTrigger(triggers)


def _listed(values: Iterable[int]) -> str:
    return ",".join(str(value) for value in sorted(values))
