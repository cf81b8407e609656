"""Lengths of time as people write them, from minutes to years, and what lies that far back. Pure.

Months and years are those of the calendar: a month before 31 March is the last day of February.
Moments are UTC throughout, so that no change of clocks moves a boundary.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from journal.model.errors import Code, PalimpsestError

NUMBER_MAX = 1_000_000


class Unit(StrEnum):
    """What a length of time is counted in."""

    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"
    WEEKS = "WEEKS"
    MONTHS = "MONTHS"
    YEARS = "YEARS"


_FIXED = {
    Unit.MINUTES: timedelta(minutes=1),
    Unit.HOURS: timedelta(hours=1),
    Unit.DAYS: timedelta(days=1),
    Unit.WEEKS: timedelta(weeks=1),
}
_MONTHS = {Unit.MONTHS: 1, Unit.YEARS: 12}
_SHORTEST_MONTH, _LONGEST_MONTH = timedelta(days=28), timedelta(days=31)
_SHORTEST_YEAR, _LONGEST_YEAR = timedelta(days=365), timedelta(days=366)
_WRITTEN = re.compile(r"(\d+)\s*([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Duration:
    """So many of a unit; never zero."""

    number: int
    unit: Unit

    def __post_init__(self) -> None:
        if not 1 <= self.number <= NUMBER_MAX:
            raise PalimpsestError(
                Code.POLICY,
                f"{self.number} {self.unit.lower()} is no length of time to keep anything for",
                advice=f"give a whole number from 1 to {NUMBER_MAX:,}",
            )

    @staticmethod
    def parse(text: str) -> Duration:
        """``90 DAYS``, ``1 month``, ``12h`` spelled out; raises POLICY for anything else."""
        found = _WRITTEN.fullmatch(text.strip())
        unit = _unit(found[2]) if found is not None else None
        if found is None or unit is None:
            raise PalimpsestError(
                Code.POLICY,
                f'"{text}" is no length of time',
                advice="write a number and MINUTES, HOURS, DAYS, WEEKS, MONTHS or YEARS: 90 DAYS",
            )
        return Duration(int(found[1]), unit)

    def before(self, moment: datetime) -> datetime:
        """The moment that lies this far back; the first of all moments if there is none."""
        try:
            if self.unit in _FIXED:
                return moment - self.number * _FIXED[self.unit]
            return _months(moment, -self.number * _MONTHS[self.unit])
        except (OverflowError, ValueError):
            return datetime(1, 1, 1, tzinfo=UTC)

    def after(self, moment: datetime) -> datetime:
        """The moment that lies this far ahead; the last of all moments if there is none."""
        try:
            if self.unit in _FIXED:
                return moment + self.number * _FIXED[self.unit]
            return _months(moment, self.number * _MONTHS[self.unit])
        except (OverflowError, ValueError):
            return datetime(9999, 12, 31, tzinfo=UTC)

    @property
    def shortest(self) -> timedelta:
        """The least time it can be."""
        return self._times(_SHORTEST_MONTH, _SHORTEST_YEAR)

    @property
    def longest(self) -> timedelta:
        """The most time it can be."""
        return self._times(_LONGEST_MONTH, _LONGEST_YEAR)

    def _times(self, month: timedelta, year: timedelta) -> timedelta:
        one = {**_FIXED, Unit.MONTHS: month, Unit.YEARS: year}[self.unit]
        return min(self.number, timedelta.max // one) * one

    def __str__(self) -> str:
        unit = self.unit.value if self.number != 1 else self.unit.value.removesuffix("S")
        return f"{self.number} {unit}"


def _unit(word: str) -> Unit | None:
    wanted = word.upper().removesuffix("S")
    return next((u for u in Unit if u.value.removesuffix("S") == wanted), None)


def _months(moment: datetime, count: int) -> datetime:
    place = moment.year * 12 + moment.month - 1 + count
    year, month = divmod(place, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)
