"""Dates and timestamps that Python cannot hold: infinity, and years outside 1 to 9999.

The client library fails at them, so that rows which have one are loaded once more, with loaders
that give the numbers of Arrow. Infinities are the largest number of the type with either sign,
as DuckDB counts them. Connects to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader

from journal.model.errors import Code, PalimpsestError

_FAR = re.compile(
    r"(\d{4,6})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?"
    r"(?:([-+])(\d\d)(?::(\d\d))?(?::(\d\d))?)?( BC)?"
)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_DAY_S = 86_400
_LAST_DAY, _LAST_US = 2**31 - 1, 2**63 - 1
# Naive for moments with a zone, too, as DuckDB's driver gives them.
_ENDS = (datetime.min, datetime.max)  # noqa: DTZ901


class FarMoment(int):
    """A moment as Arrow counts it, with its text and what stands for it in Python, if anything."""

    text: str
    end: date | None = None


def _far(text: str, last: int, ends: tuple[date, date]) -> FarMoment:
    """A moment that the library has refused; a DataError for one that Arrow has no number for."""
    if text in {"infinity", "-infinity"}:
        is_after = text == "infinity"
        made = FarMoment(last if is_after else -last)
        made.end = ends[is_after]
    else:
        made = FarMoment(_number(text, is_day=last == _LAST_DAY))
        if not -last < made < last:
            raise psycopg.DataError(f"{text!r} is beyond the moments of Arrow")
    made.text = text
    return made


def _number(text: str, *, is_day: bool) -> int:
    """Days, or microseconds, since 1970."""
    found = _FAR.fullmatch(text)
    if found is None:
        raise psycopg.DataError(f"can't parse date or timestamp {text!r}")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction, sign, *offset, is_before = found.groups()[6:]
    cycles, place = divmod((1 - year if is_before else year) - 1, _CYCLE_YEARS)
    days = date(place + 1, month, day).toordinal() + cycles * _CYCLE_DAYS - _EPOCH
    if is_day:
        return days
    hours, minutes, seconds = (int(part or 0) for part in offset)
    east_s = (hours * 60 + minutes) * 60 + seconds
    clock_s = (hour * 60 + minute) * 60 + second - (-east_s if sign == "-" else east_s)
    return (days * _DAY_S + clock_s) * 1_000_000 + int((fraction or "").ljust(6, "0"))


class _FarDateLoader(DateLoader):
    def load(self, data: Buffer) -> date | FarMoment:  # type: ignore[override]
        try:
            return super().load(data)
        except psycopg.DataError:
            return _far(bytes(data).decode(), _LAST_DAY, (date.min, date.max))


class _FarTimestampLoader(TimestampLoader):
    def load(self, data: Buffer) -> datetime | FarMoment:  # type: ignore[override]
        try:
            return super().load(data)
        except psycopg.DataError:
            return _far(bytes(data).decode(), _LAST_US, _ENDS)


class _FarTimestamptzLoader(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime | FarMoment:  # type: ignore[override]
        try:
            return super().load(data)
        except psycopg.DataError:
            return _far(bytes(data).decode(), _LAST_US, _ENDS)


class FarContext:
    """How a connection's values are loaded, but for moments that Python has none for."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.adapters = AdaptersMap(connection.adapters)
        self.adapters.register_loader("date", _FarDateLoader)
        self.adapters.register_loader("timestamp", _FarTimestampLoader)
        self.adapters.register_loader("timestamptz", _FarTimestamptzLoader)


def without_far(rows: list[tuple[Any, ...]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows with the ends of Python's calendar for infinities.

    Raises DATA, with the column's name, for other moments that Python has none for.
    """
    return [
        tuple(_python_value(v, name) for v, name in zip(row, names, strict=True)) for row in rows
    ]


def _python_value(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_python_value(v, name) for v in value]
    if not isinstance(value, FarMoment):
        return value
    if value.end is None:
        raise PalimpsestError(
            Code.DATA,
            f'column "{name}" has {value.text}, and Python has the years 1 to 9999 alone',
            advice="cast it to VARCHAR in the query",
        )
    return value.end
