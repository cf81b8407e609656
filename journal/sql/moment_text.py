"""Texts of dates as PostgreSQL reads them, made into the ISO form that every store reads. Pure.

January 8, 1999     8-Jan-99     1999 08 Jan     a name of a month tells which number is which
1/8/1999            1-8-99       two numbers are month and day, and of two digits 99 is 1999
1999.008            19990108     the day of the year; no separators
J2451187            the Julian day
44-03-15 BC         before our era
Feb 10 5:32PM 1997 PST, 19970210 173201 -0800    times of day and zones, anywhere beside the date

A store would refuse most of these, and take ``01/02/03`` for the third of February of year 1.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from journal.model.errors import Code, PalimpsestError
from journal.sql.moment_clock import Clock, split_clock

AS_POSTGRES = "as_postgres"
"""What marks, among its meta data, a constant of PostgreSQL's dialect that may be such a text."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WHOLE_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_DAYS = (
    "sun mon tue wed thu fri sat sunday monday tuesday wednesday thursday friday saturday tues"
    " wednes weds thurs thur"
).split()
_LIKE_DATE = re.compile(r"\s*(?:\d|j\d|[a-z]{3,9}\b)[\w\s,./:+-]*", re.I)
_ISO_DATE = re.compile(r"[+-]?(\d{4,})-(\d{1,2})-(\d{1,2})")
_ISO = re.compile(
    rf"\s*{_ISO_DATE.pattern}(?:(?:\s+|t)\d{{1,2}}:\d\d(?::[0-5]\d(?:\.\d{{0,6}})?)?"
    r"(?:z|[+-]\d\d(?::?\d\d)?(?::\d\d)?)?)?\s*",
    re.I,
)
_ZONED_DATE = re.compile(
    r"\s*(\d{4,}-\d{1,2}-\d{1,2})\s*([+-]\d{1,2}(?::?\d\d){0,2})(\s*(?:bc|ad))?\s*", re.I
)
"""Midnight of a zone: drivers of JDBC send the dates of Java so."""
_PLAIN_TIME = re.compile(r"\s*\d{1,2}:\d\d(:\d\d(\.\d{1,6})?)?\s*")
_RUN_TOGETHER = re.compile(r"^\s*(\d\d)(\d\d)(\d\d(?:\.\d*)?)(?!\d)(?!-)")
_PARTS = re.compile(r"[a-z]+|\d+|[-/.,\s]+")
_JULIAN = re.compile(r"j(?:ulian)?\s*(\d+)")
_DAY_OF_YEAR = re.compile(r"(\d{4,})[.-](\d{3})")
_JULIAN_DAY_1 = 1_721_425
"""The Julian day of the first day of year 1."""
_WORDS = frozenset({*_MONTHS, *_WHOLE_MONTHS, *_DAYS, "sept", "bc", "ad", "j", "julian", "t"})
_LAST_HOUR = re.compile(r"[\sTt]24:|:60")
_DAY_SECONDS = 86_400
_LENGTH_MAX, _YEAR_MAX = 64, 6
_CENTURY_TURNS = 70
"""A year of two digits below this is of the century of 2000."""


def may_be_moment(text: str) -> bool:
    """False for what is no date, and for dates in ISO form, which mean the same everywhere."""
    return len(text) <= _LENGTH_MAX and bool(_LIKE_DATE.fullmatch(text)) and not _is_iso(text)


def iso_moment(text: str) -> str | None:
    """The text with its date in ISO form; None for one that is so already, or no date.

    Raises OUT_OF_RANGE for a date of which a part is none, ``13/13/1999`` for one.

    >>> iso_moment("Jan 8, 1999 5:32:01 PM PST")
    '1999-01-08 17:32:01-08'
    """
    if _is_iso(text):
        return None
    zoned = _ZONED_DATE.fullmatch(text)
    if zoned is not None:
        text = f"{zoned[1]} 00:00:00{zoned[2]}{zoned[3] or ''}"
        return text if _is_iso(text) else iso_moment(text)
    parts = split_clock(text.strip().lower(), _WORDS)
    if parts is None or (parts[1] is not None and not parts[1].exists):
        raise _out_of_range(text)
    day, clock = parts
    made = _iso_date(day, text)
    if made is None or clock is None:
        return None if made is None else "".join(made)
    return _with_clock(made, clock)


def iso_time(text: str, *, has_zone: bool = False) -> str | None:
    """The time of day in a text, without its date and its zone; None for a text that has none.

    ``has_zone``: a distance from UTC stays.

    Raises OUT_OF_RANGE for a time that is none, and for the name of a zone without a date.

    >>> iso_time("11:59:59.99 PM"), iso_time("2003-03-07 15:36:39 America/New_York")
    ('23:59:59.99', '15:36:39')
    """
    if _PLAIN_TIME.fullmatch(text):
        return None
    text = _RUN_TOGETHER.sub(r"\1:\2:\3", text)
    parts = split_clock(text.strip().lower(), _WORDS)
    if parts is None or (parts[1] is not None and not parts[1].exists):
        raise _out_of_range(text)
    day, clock = parts
    if clock is None:
        return None
    if "/" in clock.zone and not day:
        raise _out_of_range(text)
    seconds = clock.hours * 3600 + clock.minutes * 60 + clock.seconds
    if seconds > _DAY_SECONDS or (has_zone and clock.zone[:1] not in {"+", "-"}):
        return None
    return _clock_text(seconds) + (clock.zone if has_zone else "")


def _clock_text(seconds: Decimal) -> str:
    minutes, seconds = divmod(seconds, 60)
    time = f"{int(minutes) // 60:02}:{int(minutes) % 60:02}:{int(seconds):02}"
    return time + f"{seconds % 1:.6f}"[1:].rstrip("0").rstrip(".")


def _is_iso(text: str) -> bool:
    return bool(_ISO.fullmatch(text)) and not _LAST_HOUR.search(text)


def _with_clock(date: tuple[str, str], clock: Clock) -> str | None:
    """A date and a time of day; None for the end of a day that Python has not."""
    seconds = clock.hours * 3600 + clock.minutes * 60 + clock.seconds
    days, seconds = divmod(seconds, _DAY_SECONDS)
    day = date[0]
    if days:
        if date[1] or not day.startswith(("1", "2")) or len(day) != len("YYYY-MM-DD"):
            return None
        day = (datetime.date.fromisoformat(day) + datetime.timedelta(1)).isoformat()
    return f"{day}{date[1]} {_clock_text(seconds)}{clock.zone}"


def _iso_date(day: str, text: str) -> tuple[str, str] | None:
    """The date, and the mark of an era before ours, which stands last."""
    era = day[-2:] if day[-2:] in {"bc", "ad"} else ""
    day = day.removesuffix(era).rstrip()
    numbers = _numbers(day)
    if numbers is None:
        return None
    year, month, number, short = numbers
    if short and not era:
        year += 2000 if year < _CENTURY_TURNS else 1900
    if not _exists(year, month, number, before=era == "bc"):
        raise _out_of_range(text)
    return f"{year:04}-{month:02}-{number:02}", " (BC)" if era == "bc" else ""


def _out_of_range(text: str) -> PalimpsestError:
    return PalimpsestError(
        Code.MOMENT_RANGE,
        f'date/time field value out of range: "{text}"',
        advice="write it as YYYY-MM-DD; 1/8/1999 is the eighth of January",
    )


def _numbers(day: str) -> tuple[int, int, int, bool] | None:
    """Year, month, day, and whether the year has no century."""
    julian, of_year = _JULIAN.fullmatch(day), _DAY_OF_YEAR.fullmatch(day)
    if julian or of_year:
        return _counted(julian, of_year)
    iso = _ISO_DATE.fullmatch(day)
    if iso is not None and day[0] not in "+-":
        return int(iso[1]), int(iso[2]), int(iso[3]), False
    if day.isdigit():
        cut = {8: 4, 6: 2}.get(len(day))
        if cut is None:
            return None
        return int(day[:cut]), int(day[cut:-2]), int(day[-2:]), cut == 2
    parts = _PARTS.findall(day)
    if "".join(parts) != day:
        return None
    words = [p for p in parts if p.isalpha() and p not in _DAYS]
    digits = [p for p in parts if p.isdigit()]
    if len(words) > 1 or len(digits) != 3 - len(words) or not _are_dates(parts, words):
        return None
    year = digits.pop(0 if len(digits[0]) > 2 else -1)
    month = _month(words[0]) if words else int(digits[0])
    if words and parts[-1] == words[0] and "-" in parts and len(year) > 2:
        return None
    if month is None or len(year) > _YEAR_MAX or any(len(short) > 2 for short in digits):
        return None
    return int(year), month, int(digits[-1]), len(year) <= 2


def _are_dates(parts: list[str], words: list[str]) -> bool:
    """False for what has other marks than a date, such as ``1.2.3``."""
    marks = {p.strip() for p in parts if not p.isalnum()}
    return marks <= {"", "-", "/"} or (bool(words) and marks <= {"", "-", "/", ",", "."})


def _month(word: str) -> int | None:
    for names in (_MONTHS, _WHOLE_MONTHS, [*_MONTHS[:8], "sept"]):
        if word in names:
            return names.index(word) + 1
    return None


def _counted(
    julian: re.Match[str] | None, of_year: re.Match[str] | None
) -> tuple[int, int, int, bool] | None:
    """A day that is counted from a beginning; None where Python has no such date."""
    try:
        if julian:
            date = datetime.date.fromordinal(int(julian[1]) - _JULIAN_DAY_1)
        elif of_year:
            first = datetime.date(int(of_year[1]), 1, 1)
            date = first + datetime.timedelta(int(of_year[2]) - 1)
    except (ValueError, OverflowError):
        return None
    return date.year, date.month, date.day, False


def _exists(year: int, month: int, day: int, *, before: bool) -> bool:
    """Whether there is such a day; leap years are alike every 400 years."""
    if not year:
        return False
    astronomical = 1 - year if before else year
    try:
        datetime.date(astronomical % 400 + 2000, month, day)
    except ValueError:
        return False
    return True
