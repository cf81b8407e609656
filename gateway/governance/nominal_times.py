"""Nominal times: the moments for which a schedule asks, from its start on. Pure; all are UTC.

Minutes and hours are lengths of time: every two hours stays every two hours when clocks change.
Days, weeks, months and years go by the calendar of a time zone: daily at 06:00 stays at 06:00. Each
is counted from the start, so that monthly from 31 January is 29 February and then 31 March again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from dateutil.relativedelta import relativedelta

from journal.model.duration import Duration, Unit
from journal.model.lazy_dataclass import dataclass

_ELAPSED = {Unit.MINUTES: timedelta(minutes=1), Unit.HOURS: timedelta(hours=1)}
_DAYS = {Unit.DAYS: 1, Unit.WEEKS: 7}
_MONTHS = {Unit.MONTHS: 1, Unit.YEARS: 12}


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The wall clock of a zone at a moment, without its offset."""
    return moment.astimezone(zone).replace(tzinfo=None)


def from_zone(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which a zone's wall clock shows a time, in UTC.

    Of a time that comes twice it is the first. A time that clocks skip counts with the offset from
    before: half past two, skipped from two to three, is half past three.
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class NominalTimes:
    """Every so often from ``start`` on, before ``end`` if there is one.

    >>> from datetime import UTC, datetime
    >>> monthly = NominalTimes(datetime(2024, 1, 31, tzinfo=UTC), Duration(1, Unit.MONTHS))
    >>> [f"{monthly.nth(i):%d %b}" for i in range(3)]
    ['31 Jan', '29 Feb', '31 Mar']
    """

    start: datetime
    every: Duration
    zone: tzinfo = UTC
    end: datetime | None = None

    def nth(self, index: int) -> datetime:
        """The nominal time so many steps after the start, whether or not it lies before the end.

        Raises OverflowError past the year 9999.
        """
        if index == 0:
            return self.start.astimezone(UTC)  # Also in an hour that comes twice.
        step = self._step
        if step is not None:
            return self.start.astimezone(UTC) + index * step
        number, unit = index * self.every.number, self.every.unit
        wall = in_zone(self.start, self.zone)
        try:
            if unit in _DAYS:
                return from_zone(wall + timedelta(days=number * _DAYS[unit]), self.zone)
            return from_zone(wall + relativedelta(**{unit.lower(): number}), self.zone)
        except ValueError as error:
            raise OverflowError(str(error)) from error

    def at_or_before(self, moment: datetime) -> datetime | None:
        """The latest nominal time up to a moment; None before the start."""
        index = self._index_up_to(moment)
        return None if index is None else self.nth(index)

    def back_from(self, moment: datetime) -> Iterator[datetime]:
        """The nominal times up to a moment, the latest first."""
        index = self._index_up_to(moment)
        while index is not None and index >= 0:
            yield self.nth(index)
            index -= 1

    def on_from(self, moment: datetime) -> Iterator[datetime]:
        """The nominal times at a moment and after it, up to the end; for ever without one."""
        index = self._index_of(moment) if moment > self.start else 0
        while True:
            try:
                found = self.nth(index)
            except OverflowError:
                return
            if self.end is not None and found >= self.end:
                return
            if found >= moment:
                yield found
            index += 1

    def __contains__(self, moment: object) -> bool:
        """True if it is one of the nominal times."""
        return isinstance(moment, datetime) and self.at_or_before(moment) == moment

    @property
    def _step(self) -> timedelta | None:
        """The time from each to the next, where it is always the same."""
        unit, number = self.every.unit, self.every.number
        if unit in _ELAPSED:
            return number * _ELAPSED[unit]
        is_even = unit in _DAYS and self.zone is UTC
        return number * _DAYS[unit] * timedelta(days=1) if is_even else None

    def _index_up_to(self, moment: datetime) -> int | None:
        if self.end is not None and moment >= self.end:
            moment = self.end - timedelta(microseconds=1)
        return None if moment < self.start else self._index_of(moment)

    def _index_of(self, moment: datetime) -> int:
        """The index of the latest nominal time up to a moment that is not before the start."""
        unit, step = self.every.unit, self._step
        if step is not None:
            return (moment - self.start) // step
        wall, first = in_zone(moment, self.zone), in_zone(self.start, self.zone)
        if unit in _DAYS:
            guess = (wall.date() - first.date()).days // (_DAYS[unit] * self.every.number)
        else:
            months = (wall.year - first.year) * 12 + wall.month - first.month
            guess = months // (_MONTHS[unit] * self.every.number)
        # The time of day, the day of the month and a change of clocks may each take one step back;
        # clocks that go back over midnight, one forward.
        while guess > 0 and self.nth(guess) > moment:
            guess -= 1
        while self.nth(guess + 1) <= moment:
            guess += 1
        return guess
