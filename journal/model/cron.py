"""Cron lines: minute, hour, day, month and weekday, read as cron reads them. Pure.

    *    */15    5    1-5    10-20/2    1,15    jan    mon-fri

Weekdays are 0 to 7 from Sunday to Sunday, or names. Where both day and weekday are given, either
is enough. What no moment can ever meet is refused. When a line is due is not told here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from journal.model.errors import Code, PalimpsestError

_MONTHS = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
WEEKDAYS = tuple("sun mon tue wed thu fri sat".split())
_DAYS_MOST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")


@dataclass(frozen=True, slots=True)
class Cron:
    """The values of each field; ``days`` or ``weekdays`` is None where the line says ``*``."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None


def parse_cron(line: str) -> Cron:
    """The line's fields; raises POLICY for what is none."""
    fields = line.lower().split()
    if len(fields) != 5:
        raise _wrong(line, "it has five fields")
    minute, hour, day, month, weekday = fields
    found = Cron(
        _values(line, minute, 0, 59),
        _values(line, hour, 0, 23),
        None if day == "*" else _values(line, day, 1, 31),
        _values(line, month, 1, 12, dict(zip(_MONTHS, range(1, 13), strict=True))),
        None
        if weekday == "*"
        else frozenset(
            n % 7 for n in _values(line, weekday, 0, 7, {n: i for i, n in enumerate(WEEKDAYS)})
        ),
    )
    if found.weekdays is None and found.days is not None:
        if min(found.days) > max(_DAYS_MOST[m - 1] for m in found.months):
            raise _wrong(line, "there is no such day")
    return found


def _values(
    line: str, text: str, least: int, most: int, names: dict[str, int] | None = None
) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        matched = _PART.fullmatch(part)
        if matched is None:
            raise _wrong(line, f'"{part}" cannot be read')
        whole, first, last, step = matched.groups()
        start = least if whole == "*" else _number(line, first, names or {})
        # A number with a step goes on to the end, as in cron.
        single = whole != "*" and last is None and step is None
        end = start if single else most if last is None else _number(line, last, names or {})
        if not least <= start <= end <= most or (step is not None and int(step) < 1):
            raise _wrong(line, f'"{part}" is not within {least} to {most}')
        values |= set(range(start, end + 1, int(step or 1)))
    return frozenset(values)


def _number(line: str, text: str, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    if not (text.isascii() and text.isdigit()):
        raise _wrong(line, f'"{text}" is no number')
    return int(text)


def _wrong(line: str, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.POLICY,
        f'"{line}" is no cron line: {why}',
        advice="write minute, hour, day, month and weekday: '0 3 * * *'",
    )
