"""Expressions for instances of data, relative to the nominal time of a run. Pure.

    now(-2, 40)                         hours and minutes from the nominal time
    today(3, 20)  yesterday(24, 30)     .. from midnight of that day, or the one before
    currentWeek(MON, 6, 0)  lastWeek    .. from the latest such weekday, or a week before it
    currentMonth(3, 2, 40)  lastMonth   days, hours, minutes from the first of the month
    currentYear(4, 2, 2, 20)  lastYear  months, days, hours, minutes from 1 January
    latest(-1)                          the last instance but one whose data is there
    future(0, 10)                       the first whose data is there, of the ten from now on
    formatTime(today(0, 0), 'yyyy-MM')  a text

Midnights, weekdays, months and years are those of the process's time zone, and days and months are
added by its calendar; hours and minutes are then added as lengths of time, so that each argument
gives a moment that exists, and no two the same. docs/governance.md tells users.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice

from dateutil.relativedelta import relativedelta

from gateway.governance.nominal_times import NominalTimes, from_zone, in_zone
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

SIGNATURES: dict[str, tuple[str, ...]] = {
    "now": ("hours", "minutes"),
    "today": ("hours", "minutes"),
    "yesterday": ("hours", "minutes"),
    "currentWeek": ("weekday", "hours", "minutes"),
    "lastWeek": ("weekday", "hours", "minutes"),
    "currentMonth": ("days", "hours", "minutes"),
    "lastMonth": ("days", "hours", "minutes"),
    "currentYear": ("months", "days", "hours", "minutes"),
    "lastYear": ("months", "days", "hours", "minutes"),
    "latest": ("number",),
    "future": ("number", "limit"),
    "formatTime": ("moment", "format"),
}
"""Every function, and what its arguments are."""
NUMBER_MAX = 1_000_000
STEPS_MAX = 10_000
"""How many instances ``latest`` looks back at."""
_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_CALL = re.compile(r"\s*(?P<name>\w+)\s*\((?P<arguments>.*)\)\s*", re.ASCII | re.DOTALL)
_FORMAT_CALL = re.compile(r"(?P<moment>.*\))\s*,\s*'(?P<format>(?:[^']|'')*)'\s*", re.DOTALL)
_FORMAT_PART = re.compile(r"'(?P<literal>[^']*)'|(?P<letters>[A-Za-z])(?P=letters)*|[^A-Za-z']+")
_FORMATS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


@dataclass(frozen=True, slots=True)
class InstanceExpression:
    """A function and its arguments: numbers, a weekday, or a moment and a format."""

    name: str
    numbers: tuple[int, ...] = ()
    weekday: str | None = None
    moment: InstanceExpression | None = None
    format: str | None = None

    @property
    def depends_on_data(self) -> bool:
        """True if what it means depends on which instances have their data."""
        return self.name in {"latest", "future"}


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> InstanceExpression:
    """Read an expression; raises EXPRESSION where it is none.

    >>> parse_expression("currentWeek(SUN, 6, 0)").weekday
    'SUN'
    """
    call = _CALL.fullmatch(text)
    if call is None or call["name"] not in SIGNATURES:
        raise _expression_error(
            f'"{text}" is not an instance expression', "use one of " + ", ".join(SIGNATURES)
        )
    name, written = call["name"], call["arguments"]
    if name == "formatTime":
        return _parse_format(text, written)
    wanted = SIGNATURES[name]
    given = [part.strip() for part in written.split(",")]
    if len(given) != len(wanted):
        raise _expression_error(
            f'"{text}" has {len(given) if written.strip() else 0} arguments, not {len(wanted)}',
            f"write {name}({', '.join(wanted)})",
        )
    weekday = given.pop(0).upper() if wanted[0] == "weekday" else None
    if weekday is not None and weekday not in _WEEKDAYS:
        raise _expression_error(
            f'"{text}" does not begin with a weekday', "use one of " + ", ".join(_WEEKDAYS)
        )
    numbers = tuple(_number(text, part) for part in given)
    if (name == "latest" and numbers[0] > 0) or (
        name == "future" and (numbers[0] < 0 or not 0 < numbers[1] <= STEPS_MAX)
    ):
        raise _expression_error(
            f'"{text}" has a number out of range',
            f"latest takes 0 or less, future 0 or more and a limit up to {STEPS_MAX:,}",
        )
    return InstanceExpression(name, numbers, weekday)


def moment_of(expression: InstanceExpression, nominal: datetime, zone: tzinfo = UTC) -> datetime:
    """The moment in UTC that an expression means for a run with this nominal time.

    ``zone`` says where its days begin. Raises EXPRESSION for one that ``depends_on_data``, for a
    text, and beyond the years 1 to 9999.

    >>> f"{moment_of(parse_expression('today(-3, -20)'), datetime(2010, 1, 2, 1, 30, tzinfo=UTC))}"
    '2010-01-01 20:40:00+00:00'
    """
    if expression.depends_on_data or expression.name == "formatTime":
        raise _expression_error(
            f"{expression.name} does not name a moment by itself",
            "use latest and future for instances of datasets, formatTime for a text",
        )
    *calendar, hours, minutes = expression.numbers
    try:
        base = _base(expression, nominal, zone, calendar)
        return base.astimezone(UTC) + timedelta(hours=hours, minutes=minutes)
    except (OverflowError, ValueError) as error:
        raise _expression_error(
            f"{expression.name}{expression.numbers} of {nominal:%Y-%m-%dT%H:%MZ} is out of range",
            "stay within the years 1 to 9999",
        ) from error


def instance_of(
    expression: InstanceExpression,
    nominal: datetime,
    instances: NominalTimes,
    is_available: Callable[[datetime], bool],
    zone: tzinfo = UTC,
) -> datetime | None:
    """The instance of a dataset that an expression means for a run with this nominal time.

    ``instances`` are the dataset's, ``is_available`` says whether the data of one is there. Where
    the dataset has none at the moment meant, it is the one before; None before its first, and while
    data that ``latest`` or ``future`` needs is not there.
    """
    if expression.name == "latest":
        nth, candidates = -expression.numbers[0], instances.back_from(nominal)
        return next(islice(filter(is_available, islice(candidates, STEPS_MAX)), nth, None), None)
    if expression.name == "future":
        nth, limit = expression.numbers
        candidates = islice(instances.on_from(nominal), limit)
        return next(islice(filter(is_available, candidates), nth, None), None)
    return instances.at_or_before(moment_of(expression, nominal, zone))


def text_of(expression: InstanceExpression, nominal: datetime, zone: tzinfo = UTC) -> str:
    """The text of a formatTime: a moment as the wall clock of the zone shows it."""
    if expression.moment is None or expression.format is None:
        raise _expression_error(f"{expression.name} is no text", "write formatTime(.., 'yyyy-MM')")
    wall = in_zone(moment_of(expression.moment, nominal, zone), zone)
    return "".join(_formatted(part, wall) for part in _FORMAT_PART.finditer(expression.format))


def _base(
    expression: InstanceExpression, nominal: datetime, zone: tzinfo, calendar: list[int]
) -> datetime:
    if expression.name == "now":
        return nominal
    wall = in_zone(nominal, zone)
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    is_last = expression.name.startswith("last")
    if expression.name in {"today", "yesterday"}:
        day = midnight - timedelta(days=expression.name == "yesterday")
    elif expression.weekday is not None:
        since = (wall.weekday() - _WEEKDAYS.index(expression.weekday)) % 7
        day = midnight - timedelta(days=since + 7 * is_last)
    elif expression.name.endswith("Month"):
        first = midnight.replace(day=1) - relativedelta(months=is_last)
        day = first + timedelta(days=calendar[0])
    else:
        first = midnight.replace(month=1, day=1) - relativedelta(years=is_last)
        day = first + relativedelta(months=calendar[0]) + timedelta(days=calendar[1])
    return from_zone(day, zone)


def _parse_format(text: str, written: str) -> InstanceExpression:
    found = _FORMAT_CALL.fullmatch(written)
    if found is None:
        raise _expression_error(
            f'"{text}" does not have a moment and a format',
            "write formatTime(today(0, 0), 'yyyy-MM-dd')",
        )
    moment, pattern = parse_expression(found["moment"]), found["format"].replace("''", "'")
    if moment.depends_on_data or moment.name == "formatTime":
        raise _expression_error(
            f"{moment.name} gives no moment to format",
            "use now(0, 0) or another function of the nominal time",
        )
    parts = list(_FORMAT_PART.finditer(pattern))
    if "".join(p[0] for p in parts) != pattern or any(
        p["letters"] and p[0] not in _FORMATS for p in parts
    ):
        raise _expression_error(
            f'"{pattern}" is not a format',
            f"use {', '.join(_FORMATS)}, and other letters in two quotes: 'yyyy''T'''",
        )
    return InstanceExpression("formatTime", moment=moment, format=pattern)


def _formatted(part: re.Match[str], wall: datetime) -> str:
    if part["letters"] is None:
        return part[0] if part["literal"] is None else part["literal"]
    if part[0] == "yyyy":
        return f"{wall.year:04}"  # The C library writes the year 987 in three digits.
    return wall.strftime(_FORMATS[part[0]])


def _number(text: str, written: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,7}", written, re.ASCII) or abs(int(written)) > NUMBER_MAX:
        raise _expression_error(
            f'"{written}" in "{text}" is not a number',
            f"give whole numbers from -{NUMBER_MAX:,} to {NUMBER_MAX:,}",
        )
    return int(written)


def _expression_error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.EXPRESSION, message, advice=advice)
