"""Lengths of time as people write them, from minutes to years, and what lies that far back. Pure.

Months and years are those of the calendar: a month before 31 March is the last day of February.
Moments are UTC throughout, so that no change of clocks moves a boundary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from dateutil.relativedelta import relativedelta

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

NUMBER_MAX = 1_000_000


class Unit(StrEnum):
    """What a length of time is counted in."""

    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"
    WEEKS = "WEEKS"
    MONTHS = "MONTHS"
    YEARS = "YEARS"


_SHORTEST_DAYS = {Unit.MONTHS: 28, Unit.YEARS: 365}
_LONGEST_DAYS = {Unit.MONTHS: 31, Unit.YEARS: 366}
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
                f"{self.number} {self.unit.lower()} is no length of time that can be declared",
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
                f'"{text}" is not a duration',
                advice="write a number and MINUTES, HOURS, DAYS, WEEKS, MONTHS or YEARS: 90 DAYS",
            )
        return Duration(int(found[1]), unit)

    def before(self, moment: datetime) -> datetime:
        """The moment that lies this far back; the first of all moments if there is none."""
        try:
            found: datetime = moment - relativedelta(**{self.unit.lower(): self.number})
            return found
        except (OverflowError, ValueError):
            return datetime(1, 1, 1, tzinfo=UTC)

    def after(self, moment: datetime) -> datetime:
        """The moment that lies this far ahead; the last of all moments if there is none."""
        try:
            found: datetime = moment + relativedelta(**{self.unit.lower(): self.number})
            return found
        except (OverflowError, ValueError):
            return datetime(9999, 12, 31, tzinfo=UTC)

    @property
    def shortest(self) -> timedelta:
        """The least time it can be."""
        return self._times(_SHORTEST_DAYS)

    @property
    def longest(self) -> timedelta:
        """The most time it can be."""
        return self._times(_LONGEST_DAYS)

    def _times(self, days: Mapping[Unit, int]) -> timedelta:
        in_days = self.unit in days
        one = timedelta(**{"days": days[self.unit]} if in_days else {self.unit.lower(): 1})
        return min(self.number, timedelta.max // one) * one

    def __str__(self) -> str:
        unit = self.unit.value if self.number != 1 else self.unit.value.removesuffix("S")
        return f"{self.number} {unit}"


def _unit(word: str) -> Unit | None:
    wanted = word.upper().removesuffix("S")
    return next((u for u in Unit if u.value.removesuffix("S") == wanted), None)
