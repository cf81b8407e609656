"""The time of day and the zone in a text of PostgreSQL, beside its date. Pure.

5:32PM, 17:32:01.5      a time of day, in twelve hours or in twenty-four
173201, T173201.5       the same behind a date without separators
-0800, PST, GMT+8       a zone as a distance from UTC; PST is that of winter, in summer as well
Europe/Berlin           a zone by its name, as the store knows it

The signs of POSIX stand the other way round: GMT+8 lies west of Greenwich.
"""

from __future__ import annotations

import re
from decimal import Decimal

from journal.model.lazy_dataclass import dataclass

_HOURS = {
    "-10": "hst taht", "-9:30": "mart", "-9": "akst gamt", "-8": "akdt pst", "-7": "mst pdt",
    "-6": "cst mdt galt", "-5": "act cot cdt est pet", "-4": "bot edt amt ast",
    "-3:30": "nft nst", "-3": "brt clst gft pmst uyt adt", "-2:30": "ndt", "-2": "brst fnt uyst",
    "-1": "egt azot", "+0": "egst azost gmt uct ut utc z zulu wet",
    "+1": "wat bst cet met mez wetdst", "+2": "sast ist bdst cest cetdst eet mest mesz metdst",
    "+3": "eat idt eest eetdst fet", "+3:30": "irt", "+4": "msd mut ret sct", "+4:30": "aft",
    "+5": "pkt tjt uzt mvt", "+5:45": "npt", "+6": "almt bdt btt", "+6:30": "mmt",
    "+7": "ict wast cxt", "+8": "bnt cct hkt myt pht awst", "+9": "jst kst wdt", "+9:30": "acst",
    "+10": "aest chut pgt", "+10:30": "acdt lhst", "+11": "aedt vut", "+12": "nzt fjt nzst",
    "+13": "nzdt tot",
}  # fmt: skip
_DISTANCES = {name: hours for hours, names in _HOURS.items() for name in names.split()}
"""By the abbreviations of PostgreSQL that do not change with the year."""
_TIME = re.compile(
    r"(?:^|(?<=\s)|(?<=\dt))(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d*)?))?(?:\s*([ap]m)\b)?(?![\d:.])"
)
_RUN_TOGETHER = re.compile(r"(?<=^\d{8})[t\s]+(\d\d)(\d\d)(\d\d(?:\.\d*)?)?(?![\d:.])()")
_BEHIND_JULIAN = re.compile(r"(?<=^j\d{7})t(\d\d)(\d\d)(\d\d(?:\.\d*)?)?(?![\d:.])()")
_DISTANCE = re.compile(r"\s*([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?(?=\s|$)")
_LAST_DISTANCE = re.compile(r"\s([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?$")
_NAME = re.compile(
    r"\s*\b([a-z]{3,5})([+-])(\d{1,2})\b|\s*\b([a-z]+/[a-z_/+-]+\d*)|\s*\b([a-z]+)\b"
)
_SUMMER = re.compile(r"\s+dst\b")
_DAY_HOURS, _HALF_DAY, _PLACES = 24, 12, 6


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day, whose seconds may be 60 and whose hours 24, and a zone as stores read it."""

    hours: int = 0
    minutes: int = 0
    seconds: Decimal = Decimal(0)
    zone: str = ""

    @property
    def exists(self) -> bool:
        """False for 25:00, 24:01 and their like."""
        over = self.hours == _DAY_HOURS and (self.minutes or self.seconds)
        return self.hours <= _DAY_HOURS and self.minutes < 60 and self.seconds <= 60 and not over


def is_zone(word: str) -> bool:
    """True for an abbreviation of a zone, in small letters."""
    return word in _DISTANCES


def split_clock(text: str, words_of_dates: frozenset[str]) -> tuple[str, Clock | None] | None:
    """The date in a text, and the time of day and zone beside it, if there are any.

    ``words_of_dates`` are no zones. None for a text that has a time which is none, ``14:05 PM``.

    >>> split_clock("feb 10 5:32pm 1997 pst", frozenset({"feb"}))
    ('feb 10  1997', Clock(hours=17, minutes=32, seconds=Decimal('0'), zone='-08'))
    """
    found = _TIME.search(text) or _RUN_TOGETHER.search(text) or _BEHIND_JULIAN.search(text)
    hours, minutes, seconds = 0, 0, Decimal(0)
    day, behind = text, ""
    if found is not None:
        day, behind = text[: found.start()].removesuffix("t"), text[found.end() :]
        hours, minutes, seconds = int(found[1]), int(found[2]), _rounded(found[3] or "0")
        if found[4]:
            if hours > _HALF_DAY:
                return None
            hours = hours % _HALF_DAY + (_HALF_DAY if found[4] == "pm" else 0)
    zone, rest = _zone(behind if found else day, words_of_dates, has_time=found is not None)
    day = f"{day} {rest}" if found else rest
    if found is None and not zone:
        return text, None
    return day.strip(), Clock(hours, minutes, seconds, zone)


def _rounded(seconds: str) -> Decimal:
    """Seconds with six digits behind the point, rounded as PostgreSQL does: as a DOUBLE."""
    whole, _, fraction = seconds.partition(".")
    microseconds = round(float(f"0.{fraction}") * 10**_PLACES)
    return Decimal(int(whole) * 10**_PLACES + microseconds).scaleb(-_PLACES)


def _zone(text: str, words_of_dates: frozenset[str], *, has_time: bool) -> tuple[str, str]:
    """A zone in a text, and the text without it."""
    distance = _DISTANCE.match(text) if has_time else None
    distance = distance or (_LAST_DISTANCE.search(text) if has_time else None)
    if distance is not None:
        parts = [part for part in distance.groups()[1:] if part is not None]
        zone = distance[1] + ":".join(f"{int(part):02}" for part in parts)
        return zone, text[: distance.start()] + text[distance.end() :]
    for name in _NAME.finditer(text):
        if name[1] and name[1] not in words_of_dates:
            zone = f"{'-' if name[2] == '+' else '+'}{int(name[3]):02}"
        elif name[4]:
            zone = f" {name[4]}"
        elif name[1] or name[5] in words_of_dates or (name[5] not in _DISTANCES and not has_time):
            continue
        else:
            summer = _SUMMER.match(text, name.end())
            zone = _named(name[5], is_summer=summer is not None)
            end = summer.end() if summer else name.end()
            return zone, text[: name.start()] + text[end:]
        return zone, text[: name.start()] + text[name.end() :]
    return "", text


def _named(name: str, *, is_summer: bool) -> str:
    distance = _DISTANCES.get(name)
    if distance is None:
        return f" {name}"
    hours, _, minutes = distance.partition(":")
    zone = f"{int(hours) + is_summer:+03}"
    return f"{zone}:{minutes}" if minutes else zone
