"""Chooses the nominal times in the past for which a process gets instances. Pure.

    catch_up   scheduled later than it starts    passed in a pause, or while no scheduler ran
    ALL        every one from the start on       every one
    LAST       the latest that has come          the latest
    NONE       those to come                     none of several; a single one is only late

Nothing is asked twice: ``next_at`` is the first nominal time that was not decided about.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice, takewhile

from gateway.governance.entity import Entity
from gateway.governance.process_rules import CatchUp, process_rules
from journal.model.lazy_dataclass import dataclass

AT_ONCE_MAX = 500
"""How many instances of a process are made at once; the rest come with the next look."""
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class DueTimes:
    """The nominal times to make instances of, and the next to decide about; None: there is none."""

    nominal: Sequence[datetime]
    next_at: datetime | None


def first_nominal(process: Entity, now: datetime) -> datetime | None:
    """The first nominal time of a process that is scheduled now; None where none is left."""
    return _from(process, process.nominal_times.start, now)


def resumed_nominal(process: Entity, next_at: datetime, now: datetime) -> datetime | None:
    """The next nominal time of a process that goes on after a pause, in which ``next_at`` came."""
    return max_of(next_at, _from(process, next_at, now))


def max_of(least: datetime, found: datetime | None) -> datetime | None:
    """The later of two moments; None where there is none."""
    return None if found is None else max(least, found)


def due_times(process: Entity, next_at: datetime, now: datetime) -> DueTimes:
    """What has come due of a scheduled process up to now, from ``next_at`` on.

    A clock that goes back makes nothing due, and nothing twice; one that leaps ahead makes due what
    lies between.
    """
    times, rule = process.nominal_times, process_rules(process).catch_up
    if rule is CatchUp.ALL:
        coming = times.on_from(next_at)
        due = list(islice(takewhile(lambda moment: moment <= now, coming), AT_ONCE_MAX))
    else:
        due = list(islice(takewhile(lambda moment: moment <= now, times.on_from(next_at)), 2))
        if len(due) > 1:
            latest = times.at_or_before(now)
            due = [latest] if rule is CatchUp.LAST and latest is not None else []
            return DueTimes(due, next(times.on_from(now + _INSTANT), None))
    if not due:
        return DueTimes((), next(times.on_from(next_at), None))
    return DueTimes(due, next(times.on_from(due[-1] + _INSTANT), None))


def _from(process: Entity, least: datetime, now: datetime) -> datetime | None:
    times, rule = process.nominal_times, process_rules(process).catch_up
    if rule is CatchUp.NONE:
        return next(times.on_from(max(least, now)), None)
    if rule is CatchUp.LAST:
        latest = times.at_or_before(now)
        return next(times.on_from(max(least, latest or least)), None)
    return next(times.on_from(least), None)
