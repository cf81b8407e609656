"""Nominal times: steps by length or by calendar, the one before a moment, and changes of clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.governance.nominal_times import NominalTimes
from journal.model.duration import Duration, Unit

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo")
FIRST = datetime(1990, 1, 1, tzinfo=UTC)
moments = st.timedeltas(timedelta(0), timedelta(days=45 * 365)).map(FIRST.__add__)


def test_the_specification_of_half_hours() -> None:
    times = NominalTimes(datetime(2010, 1, 2, 1, tzinfo=UTC), Duration.parse("30 minutes"))
    shown = [f"{t:%H:%M}" for t in islice(times.on_from(times.start), 4)]
    assert shown == ["01:00", "01:30", "02:00", "02:30"]


def test_months_are_counted_from_the_start() -> None:
    times = NominalTimes(datetime(2024, 1, 31, tzinfo=UTC), Duration.parse("1 month"))
    days = [f"{t:%m-%d}" for t in islice(times.on_from(times.start), 4)]
    assert days == ["01-31", "02-29", "03-31", "04-30"]


@pytest.mark.parametrize(("every", "hours"), [("1 day", [23, 24]), ("24 hours", [24, 24])])
def test_days_keep_the_wall_clock_and_hours_the_length(every: str, hours: list[int]) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2024, 3, 30, 6, tzinfo=berlin)
    first, second, third = islice(
        NominalTimes(start, Duration.parse(every), berlin).on_from(start), 3
    )
    assert [second - first, third - second] == [timedelta(hours=h) for h in hours]


def test_the_end_is_not_a_nominal_time() -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    end = start + timedelta(hours=3)
    times = NominalTimes(start, Duration.parse("1 hour"), end=end)
    assert len(list(times.on_from(start))) == 3
    assert times.at_or_before(end + timedelta(days=9)) == start + timedelta(hours=2)
    assert times.at_or_before(start - timedelta(seconds=1)) is None
    assert start in times
    assert end not in times
    assert start + timedelta(minutes=1) not in times


def test_a_start_in_an_hour_that_comes_twice_is_the_first_nominal_time() -> None:
    start = datetime(2024, 10, 27, 1, 30, tzinfo=UTC)  # Half past two in Berlin, again.
    times = NominalTimes(start, Duration.parse("1 day"), ZoneInfo("Europe/Berlin"))
    assert next(times.on_from(start)) == start
    assert start in times


@given(
    start=moments,
    number=st.integers(1, 40),
    unit=st.sampled_from(Unit),
    zone=st.sampled_from(ZONES),
    after=st.timedeltas(timedelta(0), timedelta(days=4000)),
)
def test_the_latest_up_to_a_moment_has_none_between(
    start: datetime, number: int, unit: Unit, zone: str, after: timedelta
) -> None:
    times = NominalTimes(start, Duration(number, unit), ZoneInfo(zone))
    moment = start + after
    found = times.at_or_before(moment)
    assert found is not None
    following = next(times.on_from(moment + timedelta(microseconds=1)))
    assert found <= moment < following
    assert next(times.back_from(moment)) == found
    assert found in times
    assert following in times
