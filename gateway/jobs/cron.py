"""Cron lines as triggers of APScheduler, which numbers weekdays and combines days differently."""

from __future__ import annotations

from datetime import datetime

from apscheduler.triggers.base import BaseTrigger

from journal.model.cron import check_cron, next_run


class CronLine(BaseTrigger):  # type: ignore[misc]  # The library has no types.
    """Fires when a line is due; raises POLICY if it is not a cron line."""

    __slots__ = ("_line",)

    def __init__(self, line: str) -> None:
        check_cron(line)
        self._line = line

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """The next time after the previous one, or after now."""
        return next_run(self._line, previous or now)
