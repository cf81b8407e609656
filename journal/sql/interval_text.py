"""Texts of intervals as PostgreSQL reads them, made into amounts that every store reads. Pure.

1 month - 1 day     signs may stand apart
1-2                 years and months, 1-2 3 4:05:06 with days and a time
@ 1 day ago         backwards
P1Y2M3DT4H          as ISO 8601 has it
1h 5m               units cut short, and without a space
1.5 months          fractions go to the smaller units, of 30 days and 24 hours
10                  seconds
1 2:03 DAY TO HOUR  of the fields that are named alone
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

_PLAIN = re.compile(
    r"\s*(?:-?\d+\s+(?:year|month|mon|week|day|hour|minute|second)s?\s*)*"
    r"(?:-?\d+:\d\d(?::\d\d(?:\.\d{1,6})?)?)?\s*",
    re.I,
)
"""What means the same everywhere."""
_PART = re.compile(
    r"\s*(?:(?P<time>[+-]?\s*\d+:\d+(?::\d+)?(?:\.\d*)?)|(?P<months>[+-]?\s*\d+-\d+)"
    r"|(?P<amount>[+-]?\s*(?:\d+(?:\.\d*)?|\.\d+))\s*(?P<unit>[a-z]*))\s*",
    re.I,
)
_ISO_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"
_ISO = re.compile(
    "P(?:(?P<y>N)Y)?(?:(?P<m>N)M)?(?:(?P<w>N)W)?(?:(?P<d>N)D)?"
    "(?:T(?:(?P<h>N)H)?(?:(?P<mi>N)M)?(?:(?P<s>N)S)?)?".replace("N", _ISO_NUMBER),
    re.I,
)
_ISO_FIELDS = re.compile(
    "P(?:(?P<y>N)-(?P<m>N)(?:-(?P<d>N))?)?(?:T(?P<h>N):(?P<mi>N)(?::(?P<s>N))?)?".replace(
        "N", _ISO_NUMBER
    ),
    re.I,
)
"""``P0001-02-03T04:05:06``, which has signs of its own for each field."""
_ISO_UNITS = {
    "y": "year",
    "m": "mon",
    "w": "week",
    "d": "day",
    "h": "hour",
    "mi": "min",
    "s": "sec",
}
_SECOND = 1_000_000
_DAY_MICROSECONDS = 86_400 * _SECOND
_UNITS: dict[str, tuple[str, int]] = {
    unit: meaning
    for units, meaning in (
        ("millennium millennia mil mils", ("months", 12_000)),
        ("century centuries cent c", ("months", 1200)),
        ("decade decades decs dec", ("months", 120)),
        ("year years yr yrs y", ("months", 12)),
        ("month months mon mons", ("months", 1)),
        ("week weeks w", ("days", 7)),
        ("day days d", ("days", 1)),
        ("hour hours hr hrs h", ("time", 3600 * _SECOND)),
        ("minute minutes min mins m", ("time", 60 * _SECOND)),
        ("second seconds sec secs s", ("time", _SECOND)),
        ("millisecond milliseconds msec msecs ms", ("time", 1000)),
        ("microsecond microseconds usec usecs us", ("time", 1)),
    )
    for unit in units.split()
}
_LENGTH_MAX = 200


def plain_interval(text: str) -> str | None:
    """The text as months, days and microseconds; None for one that is plain, or no interval.

    >>> plain_interval("1 month - 1 day")
    '1 months -1 days 0 microseconds'
    """
    if len(text) > _LENGTH_MAX or _PLAIN.fullmatch(text):
        return None
    iso = _ISO.fullmatch(text.strip()) or _ISO_FIELDS.fullmatch(text.strip())
    if iso is not None:
        parts = [(Decimal(n), _ISO_UNITS[u]) for u, n in iso.groupdict().items() if n]
        return _summed(parts, 1) if parts else None
    words, sign = text.strip().removeprefix("@"), 1
    if words.lower().endswith("ago"):
        words, sign = words[:-3], -1
    found = _parts(words)
    return None if found is None else _summed(found, sign)


def interval_of_fields(text: str, first: str, last: str, digits: int = 6) -> str | None:
    """The same of ``INTERVAL '..' first TO last(digits)``; None for a text that is no interval.

    A number alone is of the last field, and what lies below it is left out.

    >>> interval_of_fields("1 2:03:04", "day", "hour")
    '0 months 1 days 7200000000 microseconds'
    >>> interval_of_fields("2:03", "minute", "second")
    '0 months 0 days 123000000 microseconds'
    """
    found = None if len(text) > _LENGTH_MAX else _parts(text.strip(), (first, last))
    if found is None:
        return None
    months, days, time = _sums(found, 1)
    if last == "year":
        months = int(months / 12) * 12
    if last in {"year", "month"}:
        days = 0
    if last in {"year", "month", "day"}:
        time = 0
    elif last == "second":
        unit = 10 ** (6 - digits)
        time = int((Decimal(time) / unit).to_integral_value(ROUND_HALF_UP)) * unit
    else:
        unit = _UNITS[last][1]
        time = int(Decimal(time) / unit) * unit
    return f"{months} months {days} days {time} microseconds"


def _parts(words: str, fields: tuple[str, str] | None = None) -> list[tuple[Decimal, str]] | None:
    """Amounts and their units; None if something else stands there."""
    found: list[tuple[Decimal, str]] = []
    end = 0
    while end < len(words):
        part = _PART.match(words, end)
        if part is None or part.end() == end:
            return None
        end = part.end()
        if part["amount"] is None:
            text = (part["time"] or part["months"]).replace(" ", "")
            sign = -1 if text.startswith("-") else 1
            units = ["hour", "min", "sec"] if part["time"] else ["year", "mon"]
            if part["time"] and any(unit == "min" for _, unit in found):
                return None
            numbers = re.split("[:-]", text.lstrip("+-"))
            if part["time"] and len(numbers) == 2 and _begins_with_minutes(text, fields):
                del units[0]
            found += [
                (sign * Decimal(n), u) for n, u in zip(numbers, units, strict=False) if n != ""
            ]
            continue
        # A number alone is of days before a time, and else of seconds.
        rest = words[end:]
        unit = part["unit"].lower()
        if not unit:
            last = "sec" if fields is None else fields[1]
            unit = "day" if ":" in rest else last
            if rest and ":" not in rest:
                # Before a number of hours stands one of days, and before others none.
                unit = "day" if last == "hour" and rest.strip().isdigit() else ""
        if unit not in _UNITS:
            return None
        found.append((Decimal(part["amount"].replace(" ", "")), unit))
    return found or None


def _begins_with_minutes(time: str, fields: tuple[str, str] | None) -> bool:
    """True for ``mm:ss``, where fields say so or seconds have a fraction."""
    return fields == ("minute", "second") or "." in time


def _summed(parts: list[tuple[Decimal, str]], sign: int) -> str:
    months, days, time = _sums(parts, sign)
    return f"{months} months {days} days {time} microseconds"


def _sums(parts: list[tuple[Decimal, str]], sign: int) -> tuple[int, int, int]:
    """Months, days and microseconds."""
    sums = {"months": Decimal(0), "days": Decimal(0), "time": Decimal(0)}
    for amount, name in parts:
        kind, size = _UNITS[name]
        total = amount * size
        whole = Decimal(int(total)) if kind != "time" else total
        sums[kind] += whole
        rest = total - whole
        if kind == "months" and rest:
            of_days = rest * 30
            sums["days"] += Decimal(int(of_days))
            sums["time"] += (of_days - int(of_days)) * _DAY_MICROSECONDS
        elif kind == "days" and rest:
            sums["time"] += rest * _DAY_MICROSECONDS
    months, days, time = (sign * int(sums[kind].to_integral_value()) for kind in sums)
    return months, days, time
