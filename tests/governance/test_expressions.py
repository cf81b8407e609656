"""Instance expressions: the specified examples, changes of clocks, leap days, refusals.

Row F51 is now, today and yesterday; F52 weeks, months and years; F53 latest and what stands in for
an instance that there is not.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from gateway.governance.expressions import (
    SIGNATURES,
    instance_of,
    moment_of,
    parse_expression,
    text_of,
)
from gateway.governance.nominal_times import NominalTimes
from journal.model.duration import Duration
from journal.model.errors import Code, PalimpsestError

BERLIN, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")


def at(text: str) -> datetime:
    """A moment of UTC, to the minute."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


EXAMPLES = [
    # F51
    ("2010-01-02T01:30Z", "now(-2, 40)", "2010-01-02T00:10Z"),
    ("2010-01-02T01:30Z", "now(0, -80)", "2010-01-02T00:10Z"),
    ("2010-01-02T01:30Z", "today(-3, -20)", "2010-01-01T20:40Z"),
    ("2010-01-02T01:30Z", "today(3, 20)", "2010-01-02T03:20Z"),
    ("2010-01-02T01:30Z", "yesterday(24, 30)", "2010-01-02T00:30Z"),
    # F52
    ("2010-01-12T01:30Z", "currentMonth(3, 2, 40)", "2010-01-04T02:40Z"),
    ("2010-01-12T01:30Z", "currentMonth(0, 0, 0)", "2010-01-01T00:00Z"),
    ("2010-01-12T01:30Z", "lastMonth(2, 3, 30)", "2009-12-03T03:30Z"),
    ("2010-01-02T00:30Z", "currentYear(0, 2, 2, 20)", "2010-01-03T02:20Z"),
    ("2010-01-02T00:30Z", "currentYear(11, 2, 2, 20)", "2010-12-03T02:20Z"),
    ("2010-01-02T00:30Z", "lastYear(4, 2, 2, 20)", "2009-05-03T02:20Z"),
    ("2010-01-02T00:30Z", "lastYear(12, 2, 2, 20)", "2010-01-03T02:20Z"),
    ("2010-01-02T01:30Z", "currentWeek(SAT, 2, 20)", "2010-01-02T02:20Z"),  # That is a Saturday.
    ("2010-01-02T01:30Z", "currentWeek(SUN, 2, 20)", "2009-12-27T02:20Z"),
    ("2010-01-02T01:30Z", "currentWeek(FRI, 0, 0)", "2010-01-01T00:00Z"),
    ("2010-01-02T01:30Z", "lastWeek(SAT, 2, 20)", "2009-12-26T02:20Z"),
    ("2010-01-02T01:30Z", "lastWeek(SUN, 2, 20)", "2009-12-20T02:20Z"),
    # Leap days
    ("2024-02-29T12:00Z", "lastYear(1, 28, 0, 0)", "2023-03-01T00:00Z"),
    ("2024-02-29T12:00Z", "currentYear(1, 28, 0, 0)", "2024-02-29T00:00Z"),
    ("2024-03-31T12:00Z", "lastMonth(28, 0, 0)", "2024-02-29T00:00Z"),
    ("2023-03-31T12:00Z", "lastMonth(28, 0, 0)", "2023-03-01T00:00Z"),
    ("2024-03-01T00:00Z", "yesterday(0, 0)", "2024-02-29T00:00Z"),
]


@pytest.mark.parametrize(("nominal", "text", "meant"), EXAMPLES, ids=str)
def test_f51_f52_examples_of_the_specification(nominal: str, text: str, meant: str) -> None:
    assert moment_of(parse_expression(text), at(nominal)) == at(meant)
    assert moment_of(parse_expression(text), at(nominal), UTC_ZONE) == at(meant)


CLOCK_CHANGES = [
    # Clocks in Berlin skip 02:00 to 03:00 on 31 March 2024, and repeat it on 27 October.
    ("2024-03-31T10:00Z", "today(0, 0)", "2024-03-30T23:00Z"),
    ("2024-03-31T10:00Z", "today(24, 0)", "2024-03-31T23:00Z"),
    ("2024-03-31T23:00Z", "today(0, 0)", "2024-03-31T22:00Z"),
    ("2024-03-31T23:00Z", "yesterday(0, 0)", "2024-03-30T23:00Z"),
    ("2024-10-27T12:00Z", "today(0, 0)", "2024-10-26T22:00Z"),
    ("2024-10-28T12:00Z", "yesterday(25, 0)", "2024-10-27T23:00Z"),
    ("2024-11-15T12:00Z", "currentMonth(0, 0, 0)", "2024-10-31T23:00Z"),
    ("2024-11-15T12:00Z", "lastMonth(0, 0, 0)", "2024-09-30T22:00Z"),
    ("2024-04-02T12:00Z", "currentWeek(SUN, 0, 0)", "2024-03-30T23:00Z"),
    ("2024-12-31T23:30Z", "currentYear(0, 0, 0, 0)", "2024-12-31T23:00Z"),  # 2025 there
]


@pytest.mark.parametrize(("nominal", "text", "meant"), CLOCK_CHANGES, ids=str)
def test_days_begin_where_the_process_is(nominal: str, text: str, meant: str) -> None:
    assert moment_of(parse_expression(text), at(nominal), BERLIN) == at(meant)


def test_hours_are_lengths_of_time_so_no_two_arguments_mean_the_same() -> None:
    for day in ("2024-03-31T10:00Z", "2024-10-27T10:00Z"):
        found = [
            moment_of(parse_expression(f"today({h}, 0)"), at(day), BERLIN) for h in range(-30, 60)
        ]
        assert {b - a for a, b in pairwise(found)} == {timedelta(hours=1)}


def test_a_midnight_that_clocks_skip_is_the_first_moment_of_its_day() -> None:
    zone = ZoneInfo("America/Sao_Paulo")  # Clocks went from 24:00 to 01:00 on 4 November 2018.
    found = moment_of(parse_expression("today(0, 0)"), at("2018-11-04T12:00Z"), zone)
    assert found == at("2018-11-04T03:00Z")
    assert found.astimezone(zone).hour == 1


HOURLY = NominalTimes(at("2010-01-01T00:00Z"), Duration.parse("1 hour"))


def test_f53_the_instance_before_stands_in_for_one_that_there_is_not() -> None:
    every = NominalTimes(at("2010-01-01T00:00Z"), Duration.parse("6 hours"))
    nominal = at("2010-01-02T01:30Z")
    for text, meant in [
        ("now(0, 0)", at("2010-01-02T00:00Z")),
        ("now(-2, 0)", at("2010-01-01T18:00Z")),
        ("today(12, 0)", at("2010-01-02T12:00Z")),
        ("lastYear(0, 0, 0, 0)", None),
    ]:
        assert instance_of(parse_expression(text), nominal, every, lambda _: True) == meant


@pytest.mark.parametrize(("number", "hour"), [(0, 22), (-1, 21), (-3, 18)])
def test_f53_latest_counts_back_over_what_is_there(number: int, hour: int) -> None:
    missing = {at("2010-01-01T23:00Z"), at("2010-01-02T00:00Z"), at("2010-01-01T19:00Z")}
    found = instance_of(
        parse_expression(f"latest({number})"),
        at("2010-01-02T00:30Z"),
        HOURLY,
        lambda instance: instance not in missing,
    )
    assert found == at("2010-01-01T00:00Z").replace(hour=hour)


def test_latest_is_nothing_while_there_are_too_few() -> None:
    nominal, first = at("2010-01-01T05:00Z"), HOURLY.start
    latest = parse_expression("latest(-1)")
    assert instance_of(latest, nominal, HOURLY, lambda i: i == first) is None
    assert instance_of(latest, nominal, HOURLY, lambda i: i <= first + timedelta(hours=1)) == first


def test_future_waits_until_data_is_there_within_its_limit() -> None:
    nominal = at("2010-01-02T00:30Z")
    there = {at("2010-01-02T03:00Z"), at("2010-01-02T05:00Z"), at("2010-01-02T12:00Z")}
    for text, hour in [("future(0, 10)", 3), ("future(1, 10)", 5), ("future(2, 10)", None)]:
        found = instance_of(parse_expression(text), nominal, HOURLY, there.__contains__)
        assert found == (None if hour is None else nominal.replace(hour=hour, minute=0))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("formatTime(now(0, 0), 'yyyy-MM-dd/HH')", "2010-01-02/01"),
        ("formatTime(lastMonth(0, 0, 0), 'yyyyMM')", "200912"),
        ("formatTime(today(0, 5), 'yyyy-MM-dd''T''HH:mm:ss''Z''')", "2010-01-02T00:05:00Z"),
        ("formatTime(now(0, 0), 'yy')", "10"),
    ],
)
def test_moments_become_texts(text: str, shown: str) -> None:
    assert text_of(parse_expression(text), at("2010-01-02T01:30Z")) == shown


def test_texts_show_the_wall_clock_of_the_zone() -> None:
    text = parse_expression("formatTime(now(0, 0), 'yyyy-MM-dd HH:mm')")
    assert text_of(text, at("2024-03-31T00:59Z"), BERLIN) == "2024-03-31 01:59"
    assert text_of(text, at("2024-03-31T01:00Z"), BERLIN) == "2024-03-31 03:00"


REFUSED = [
    "",
    "now",
    "tomorrow(0, 0)",
    "now()",
    "now(1)",
    "now(1, 2, 3)",
    "now(a, 0)",
    "now(1.5, 0)",
    "now(9999999, 0)",
    "currentWeek(1, 0, 0)",
    "currentWeek(MOND, 0, 0)",
    "latest(1)",
    "future(-1, 3)",
    "future(0, 0)",
    "future(0, 10001)",
    "formatTime(now(0, 0))",
    "formatTime(now(0, 0), 'EEE')",
    "formatTime(now(0, 0), 'y''')",
    "formatTime(latest(0), 'yyyy')",
    "now(0, 0); today(0, 0)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(PalimpsestError) as refused:
        parse_expression(text)
    assert refused.value.code is Code.EXPRESSION
    assert refused.value.advice


def test_no_moment_lies_beyond_the_calendar() -> None:
    for nominal, text in [
        ("9999-12-31T00:00Z", "currentYear(12, 0, 0, 0)"),
        ("0001-01-01T00:00Z", "lastYear(0, 0, 0, 0)"),
        ("0001-01-01T00:00Z", "yesterday(0, 0)"),
    ]:
        with pytest.raises(PalimpsestError) as refused:
            moment_of(parse_expression(text), at(nominal))
        assert refused.value.code is Code.EXPRESSION


def test_the_page_shows_every_function() -> None:
    from tests.architecture.sources import ROOT

    page = (ROOT / "docs/governance.md").read_text(encoding="utf-8")
    assert not [name for name in SIGNATURES if f"`{name}(" not in page]
